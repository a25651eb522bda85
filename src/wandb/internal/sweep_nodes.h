// Sweeps as requests look into them, and what an agent is told to do next.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "graphql/schema.h"
#include "search/sweep_plan.h"
#include "search/trial.h"
#include "store/hosted_sweeps.h"
#include "wandb/internal/nodes.h"

namespace kedge::wandb {

struct SweepNode {
  const Call* call = nullptr;
  std::string entity = {};
  store::HostedSweep sweep = {};
};

struct AgentNode {
  SweepNode sweep = {};
  store::SweepAgent agent = {};
};

// The trials so far, as the search room wants them: values, states, results of the metric and, for
// early termination, its curve.
Result<std::vector<search::Trial>> read_trials(const SweepNode& sweep,
                                               const search::SweepPlan& plan);

// What an agent shall do: a list of commands. `running` are the runs it says it works on. One at a
// time: two agents must not get the same point.
Result<nlohmann::json> next_commands(const AgentNode& agent,
                                     const std::vector<std::string>& running);

void declare_sweeps(graphql::Schema& schema);         // sweeps.cc
void declare_sweep_changes(graphql::Schema& schema);  // sweep_changes.cc

}  // namespace kedge::wandb
