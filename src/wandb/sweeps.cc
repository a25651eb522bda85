// Sweeps for clients that read them.
#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "search/sweep_plan.h"
#include "server/sweep_host.h"
#include "wandb/internal/encoding.h"
#include "wandb/internal/sweep_nodes.h"

namespace kedge::wandb {
namespace {

using graphql::Args;
using graphql::make_node;
using graphql::make_node_or_null;
using graphql::TypeBuilder;
using graphql::Value;
using nlohmann::json;

store::HostedSweeps sweeps_of(const Call& call) {
  return store::HostedSweeps(call.api.store);
}

Result<search::SweepPlan> plan_of(const SweepNode& node) {
  return search::parse_sweep(node.sweep.config, "the sweep's config");
}

Result<Value> find_sweep(const ProjectNode& project, const Args& args) {
  const auto name = args.text("sweepName") ? args.text("sweepName") : args.text("name");
  auto found = KEDGE_TRY(sweeps_of(*project.call).find(project.name, name.value_or("")));
  return found ? Value(make_node(SweepNode{project.call, project.entity, std::move(*found)}))
               : Value(json());
}

Result<std::vector<SweepNode>> list_sweeps(const ProjectNode& project) {
  std::vector<SweepNode> nodes;
  for (store::HostedSweep& sweep : KEDGE_TRY(sweeps_of(*project.call).list(project.name))) {
    nodes.push_back({project.call, project.entity, std::move(sweep)});
  }
  return nodes;
}

Result<std::vector<RunNode>> runs_of(const SweepNode& node, std::int64_t agent = 0) {
  std::vector<RunNode> runs;
  for (const store::SweepTrial& trial :
       KEDGE_TRY(sweeps_of(*node.call).list_trials(node.sweep.id))) {
    const store::RunKey key{node.sweep.project, trial.run_id};
    if ((agent == 0 || trial.agent == agent) && node.call->api.store.find_facts(key)) {
      runs.emplace_back(*node.call, key, node.entity);
    }
  }
  return runs;
}

// The best result so far; null: none yet.
Result<json> best_loss(const SweepNode& node) {
  const search::SweepPlan plan = KEDGE_TRY(plan_of(node));
  json best;
  for (const auto& view : KEDGE_TRY(node.call->api.sweeps.read_trials(node.sweep))) {
    const auto& metric = view.trial.metric;
    if (metric && (best.is_null() || plan.metric.is_better(*metric, best))) {
      best = *metric;
    }
  }
  return best;
}

Result<Value> list_agents(const SweepNode& node, const Args& args) {
  std::vector<AgentNode> agents;
  for (store::SweepAgent& agent : KEDGE_TRY(sweeps_of(*node.call).list_agents(node.sweep.id))) {
    agents.push_back({node, std::move(agent)});
  }
  return make_node(make_page(std::move(agents), parse_page(args)));
}

std::string agent_id(const AgentNode& node) {
  return render_id("Agent", std::to_string(node.agent.id));
}

Result<Value> find_agent(const SweepNode& node, const Args& args) {
  const std::string name = args.text("agentName").value_or("");
  for (store::SweepAgent& agent : KEDGE_TRY(sweeps_of(*node.call).list_agents(node.sweep.id))) {
    AgentNode found{node, std::move(agent)};
    if (name == agent_id(found) || name == std::to_string(found.agent.id)) {
      return make_node(std::move(found));
    }
  }
  return Value(json());
}

void declare_sweep(graphql::Schema& schema) {
  TypeBuilder<SweepNode>(schema, "Sweep")
      .leaf("id",
            [](const SweepNode& node) { return render_id("Sweep", std::to_string(node.sweep.id)); })
      .leaf("name", [](const SweepNode& node) { return node.sweep.name; })
      .leaf("displayName",
            [](const SweepNode& node) {
              return node.sweep.display_name.empty() ? json() : json(node.sweep.display_name);
            })
      .leaf("description", [](const SweepNode& node) { return node.sweep.description; })
      .leaf("config", [](const SweepNode& node) { return node.sweep.config; })
      .leaf("state", [](const SweepNode& node) { return store::name_of(node.sweep.state); })
      .leaf("method",
            [](const SweepNode& node) -> Result<json> {
              return json(KEDGE_TRY(plan_of(node)).method);
            })
      .leaf("createdAt", [](const SweepNode& node) { return render_time(node.sweep.created_us); })
      .leaf("updatedAt", [](const SweepNode& node) { return render_time(node.sweep.changed_us); })
      .leaf("heartbeatAt", [](const SweepNode& node) { return render_time(node.sweep.changed_us); })
      .leaf("earlyStopJobRunning", [](const SweepNode&) { return false; })
      .leaf("controller", [](const SweepNode&) { return json(); })
      .leaf("scheduler", [](const SweepNode&) { return json(); })
      .leaf("controllerRunName", [](const SweepNode&) { return json(); })
      .leaf("bestLoss", best_loss)
      .leaf("runCount",
            [](const SweepNode& node) -> Result<json> {
              return json(KEDGE_TRY(runs_of(node)).size());
            })
      .leaf("runCountExpected",
            [](const SweepNode& node) -> Result<json> {
              const auto count = search::expected_runs(KEDGE_TRY(plan_of(node)));
              return count ? json(*count) : json();
            })
      .object("project", "Project",
              [](const SweepNode& node) {
                return make_node(ProjectNode{node.call, node.sweep.project, node.entity});
              })
      .object("runs", "RunConnection",
              [](const SweepNode& node) -> Result<Value> {
                return make_node(make_page(KEDGE_TRY(runs_of(node)), {.limit = 10'000}));
              })
      .object("agents", "AgentConnection", list_agents)
      .object("agent", "Agent", find_agent);
  declare_connection(schema, "Sweep", "Sweep");
}

}  // namespace

void declare_sweeps(graphql::Schema& schema) {
  declare_sweep(schema);
  TypeBuilder<AgentNode>(schema, "Agent")
      .leaf("id", agent_id)
      .leaf("name", [](const AgentNode& node) { return std::to_string(node.agent.id); })
      .leaf("host", [](const AgentNode& node) { return node.agent.host; })
      .leaf("state", [](const AgentNode&) { return json(); })
      .leaf("createdAt", [](const AgentNode& node) { return render_time(node.agent.created_us); })
      .leaf("heartbeatAt",
            [](const AgentNode& node) { return render_time(node.agent.heartbeat_us); })
      .leaf("totalRuns",
            [](const AgentNode& node) -> Result<json> {
              return json(KEDGE_TRY(runs_of(node.sweep, node.agent.id)).size());
            })
      .object("runs", "RunConnection",
              [](const AgentNode& node, const Args& args) -> Result<Value> {
                return make_node(
                    make_page(KEDGE_TRY(runs_of(node.sweep, node.agent.id)), parse_page(args)));
              });
  declare_connection(schema, "Agent", "Agent");
  TypeBuilder<ProjectNode>(schema, "Project")
      .object("sweep", "Sweep", find_sweep)
      .object("sweeps", "SweepConnection",
              [](const ProjectNode& node, const Args& args) -> Result<Value> {
                return make_node(make_page(KEDGE_TRY(list_sweeps(node)), parse_page(args)));
              })
      .leaf("totalSweeps", [](const ProjectNode& node) -> Result<json> {
        return json(KEDGE_TRY(list_sweeps(node)).size());
      });
}

}  // namespace kedge::wandb
