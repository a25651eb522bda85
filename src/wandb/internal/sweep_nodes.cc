#include "wandb/internal/sweep_nodes.h"

#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/random_text.h"
#include "search/early_stop.h"
#include "search/hand_out.h"
#include "server/sweep_host.h"
#include "sweep/sweep.h"
#include "wandb/internal/encoding.h"

namespace kedge::wandb {
namespace {

using nlohmann::json;

json wrap(const json& values) {
  json args = json::object();
  for (const auto& [name, value] : values.items()) {
    args[name] = {{"value", value}};
  }
  return args;
}

// The run is there before its client is, so that its point counts even if the client dies.
Result<json> hand_out(const AgentNode& agent, const search::SweepPlan& plan,
                      const search::Offer& offer) {
  const Call& call = *agent.sweep.call;
  const store::RunKey key{agent.sweep.sweep.project, make_random_word(8)};
  store::RunPatch patch{.state = store::RunState::Pending};
  patch.source = "wandb";
  patch.user = call.viewer();
  patch.sweep = agent.sweep.sweep.name;
  patch.config = offer.values;
  KEDGE_TRY(call.api.store.create_run(key, patch, call.now_us()));
  KEDGE_TRY(
      store::HostedSweeps(call.api.store)
          .add_trial(agent.sweep.sweep.id, {offer.number, key.id, agent.agent.id, offer.values}));
  return json{{"type", "run"},
              {"run_id", key.id},
              {"args", wrap(offer.values)},
              {"program", plan.program},
              {"logs", json::array()}};
}

json exit_command() {
  return json::array({{{"type", "exit"}}});
}

// Which of the agent's runs a rule ends.
Result<json> find_stop_commands(const AgentNode& agent, const search::SweepPlan& plan,
                                const std::vector<sweep::TrialView>& views,
                                const std::vector<std::string>& running) {
  json commands = json::array();
  for (const std::size_t index : search::find_stops(plan, sweep::trials_of(views))) {
    const std::string& id = views[index].run;
    if (std::ranges::find(running, id) != running.end()) {
      KEDGE_TRY(agent.sweep.call->transcript().put_document({agent.sweep.sweep.project, id},
                                                            kStopDocument, "1"));
      commands.push_back({{"type", "stop"}, {"run_id", id}});
    }
  }
  return commands;
}

Result<void> set_state(const Call& call, store::HostedSweep sweep, store::SweepState state) {
  sweep.state = state;
  return store::HostedSweeps(call.api.store).put(sweep, call.now_us());
}

}  // namespace

Result<json> next_commands(const AgentNode& agent, const std::vector<std::string>& running) {
  const Call& call = *agent.sweep.call;
  const auto lock = call.api.sweeps.hold(agent.sweep.sweep.id);
  const store::HostedSweep sweep =
      KEDGE_TRY(call.api.sweeps.load(agent.sweep.sweep.project, agent.sweep.sweep.name));
  switch (sweep.state) {
    case store::SweepState::Canceled:
      return exit_command();
    case store::SweepState::Finished:
      return running.empty() ? exit_command() : json::array();
    case store::SweepState::Paused:
      return json::array();
    default:
      break;
  }
  const search::SweepPlan plan = KEDGE_TRY(server::plan_of(sweep));
  const auto views = KEDGE_TRY(call.api.sweeps.read_trials(sweep));
  if (!running.empty()) {
    return find_stop_commands(agent, plan, views, running);
  }
  const auto trials = sweep::trials_of(views);
  const search::Offer offer = KEDGE_TRY(search::next_offer(plan, trials));
  if (offer.kind == search::Offer::Kind::New) {
    if (sweep.state == store::SweepState::Pending) {
      KEDGE_TRY(set_state(call, sweep, store::SweepState::Running));
    }
    return json::array({KEDGE_TRY(hand_out(agent, plan, offer))});
  }
  // A client's run belongs to the agent that began it: nothing of it is ever handed out again.
  if (std::ranges::count(trials, search::TrialState::Running, &search::Trial::state) == 0) {
    KEDGE_TRY(set_state(call, sweep, store::SweepState::Finished));
  }
  return exit_command();
}

}  // namespace kedge::wandb
