#include "wandb/internal/sweep_nodes.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/random_text.h"
#include "search/early_stop.h"
#include "search/propose.h"
#include "wandb/internal/encoding.h"

namespace kedge::wandb {
namespace {

using nlohmann::json;

search::TrialState state_of_trial(store::RunState state) {
  switch (state) {
    case store::RunState::Pending:
    case store::RunState::Running:
      return search::TrialState::Running;
    case store::RunState::Finished:
      return search::TrialState::Finished;
    case store::RunState::Stopped:
      return search::TrialState::Stopped;
    default:
      return search::TrialState::Failed;
  }
}

Result<search::Trial> read_trial(const SweepNode& node, const search::SweepPlan& plan,
                                 const store::SweepTrial& handed) {
  const store::RunKey key{node.sweep.project, handed.run_id};
  search::Trial trial{.number = handed.number, .values = handed.values};
  const auto facts = node.call->api.store.find_facts(key);
  if (!facts || facts->deleted_us != 0) {
    trial.state = search::TrialState::Failed;  // its point stays used
    return trial;
  }
  trial.state = state_of_trial(facts->state);
  if (plan.metric.name.empty()) {
    return trial;
  }
  const store::Run run = KEDGE_TRY(node.call->api.store.find_run(key));
  const auto found = run.summary.find(plan.metric.name);
  if (found != run.summary.end()) {
    const json value = found->value("last", json());
    if (value.is_number()) {
      trial.metric = value.get<double>();
    }
  }
  if (plan.early_terminate.rule != search::Rule::None) {
    const track::Curve curve = KEDGE_TRY(node.call->api.store.read_history(key, plan.metric.name));
    for (const track::Point& point : curve.points) {
      trial.curve.push_back(point.value);
    }
  }
  return trial;
}

json wrap(const json& values) {
  json args = json::object();
  for (const auto& [name, value] : values.items()) {
    args[name] = {{"value", value}};
  }
  return args;
}

// The run is there before its client is, so that its point counts even if the client dies.
Result<json> hand_out(const AgentNode& agent, const search::SweepPlan& plan, const json& values,
                      std::int64_t number) {
  const Call& call = *agent.sweep.call;
  const store::RunKey key{agent.sweep.sweep.project, make_random_word(8)};
  store::RunPatch patch{.state = store::RunState::Pending};
  patch.source = "wandb";
  patch.user = call.viewer();
  patch.sweep = agent.sweep.sweep.name;
  patch.config = values;
  KEDGE_TRY(call.api.store.create_run(key, patch, call.now_us()));
  KEDGE_TRY(store::HostedSweeps(call.api.store)
                .add_trial(agent.sweep.sweep.id, {number, key.id, agent.agent.id, values}));
  return json{{"type", "run"},
              {"run_id", key.id},
              {"args", wrap(values)},
              {"program", plan.program},
              {"logs", json::array()}};
}

json exit_command() {
  return json::array({{{"type", "exit"}}});
}

// Which of the agent's runs a rule ends.
Result<json> find_stop_commands(const AgentNode& agent, const search::SweepPlan& plan,
                                const std::vector<search::Trial>& trials,
                                const std::vector<std::string>& running) {
  json commands = json::array();
  const auto handed =
      KEDGE_TRY(store::HostedSweeps(agent.sweep.call->api.store).list_trials(agent.sweep.sweep.id));
  for (const std::size_t index : search::find_stops(plan, trials)) {
    const std::string& id = handed[index].run_id;
    if (std::ranges::find(running, id) != running.end()) {
      KEDGE_TRY(agent.sweep.call->transcript().put_document({agent.sweep.sweep.project, id},
                                                            kStopDocument, "1"));
      commands.push_back({{"type", "stop"}, {"run_id", id}});
    }
  }
  return commands;
}

Result<json> propose_next(const AgentNode& agent, const search::SweepPlan& plan,
                          const std::vector<search::Trial>& trials) {
  const search::Proposals next = KEDGE_TRY(search::propose(plan, trials, 1));
  if (!next.values.empty()) {
    return json::array({KEDGE_TRY(
        hand_out(agent, plan, next.values.front(), static_cast<std::int64_t>(trials.size()) + 1))});
  }
  const bool has_running = std::ranges::any_of(trials, [](const search::Trial& trial) {
    return trial.state == search::TrialState::Running;
  });
  if (!has_running) {
    store::HostedSweep sweep = agent.sweep.sweep;
    sweep.state = store::SweepState::Finished;
    KEDGE_TRY(
        store::HostedSweeps(agent.sweep.call->api.store).put(sweep, agent.sweep.call->now_us()));
  }
  return exit_command();
}

}  // namespace

Result<std::vector<search::Trial>> read_trials(const SweepNode& node,
                                               const search::SweepPlan& plan) {
  std::vector<search::Trial> trials;
  for (const store::SweepTrial& handed :
       KEDGE_TRY(store::HostedSweeps(node.call->api.store).list_trials(node.sweep.id))) {
    trials.push_back(KEDGE_TRY(read_trial(node, plan, handed)));
  }
  return trials;
}

Result<json> next_commands(const AgentNode& agent, const std::vector<std::string>& running) {
  static std::mutex handing_out;
  const std::lock_guard lock(handing_out);
  switch (agent.sweep.sweep.state) {
    case store::SweepState::Canceled:
      return exit_command();
    case store::SweepState::Finished:
      return running.empty() ? exit_command() : json::array();
    case store::SweepState::Paused:
      return json::array();
    default:
      break;
  }
  const search::SweepPlan plan =
      KEDGE_TRY(search::parse_sweep(agent.sweep.sweep.config, "the sweep's config"));
  const std::vector<search::Trial> trials = KEDGE_TRY(read_trials(agent.sweep, plan));
  if (!running.empty()) {
    return find_stop_commands(agent, plan, trials, running);
  }
  if (agent.sweep.sweep.state == store::SweepState::Pending) {
    store::HostedSweep sweep = agent.sweep.sweep;
    sweep.state = store::SweepState::Running;
    KEDGE_TRY(
        store::HostedSweeps(agent.sweep.call->api.store).put(sweep, agent.sweep.call->now_us()));
  }
  return propose_next(agent, plan, trials);
}

}  // namespace kedge::wandb
