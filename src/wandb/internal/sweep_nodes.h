// Sweeps as requests look into them, and what an agent is told to do next.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "graphql/schema.h"
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

// What an agent shall do: a list of commands. `running` are the runs it says it works on.
Result<nlohmann::json> next_commands(const AgentNode& agent,
                                     const std::vector<std::string>& running);

void declare_sweeps(graphql::Schema& schema);         // sweeps.cc
void declare_sweep_changes(graphql::Schema& schema);  // sweep_changes.cc

}  // namespace kedge::wandb
