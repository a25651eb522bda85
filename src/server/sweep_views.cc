// Trials of the server's sweeps as others see them.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/result.h"
#include "core/time_text.h"
#include "search/propose.h"
#include "search/trial.h"
#include "server/api.h"
#include "server/sweep_host.h"
#include "sweep/trial_files.h"

namespace kedge::server {
namespace {

search::TrialState state_of_run(store::RunState state) {
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

// A trial of another tool's sweep: its run knows how it is.
Result<sweep::TrialView> view_of_run(const store::Store& store, const store::HostedSweep& sweep,
                                     const search::SweepPlan& plan,
                                     const store::SweepTrial& handed) {
  sweep::TrialView view;
  view.trial.number = handed.number;
  view.trial.values = handed.values;
  view.run = handed.run_id;
  view.trial.attempts = 1;
  const store::RunKey key{sweep.project, handed.run_id};
  const auto run = store.find_run(key);
  if (!run || run->facts.deleted_us != 0) {
    view.trial.state = search::TrialState::Failed;  // its point stays used
    return view;
  }
  view.trial.state = state_of_run(run->facts.state);
  const auto found = run->summary.find(plan.metric.name);
  if (found != run->summary.end() && found->contains("last") && (*found)["last"].is_number()) {
    view.trial.metric = (*found)["last"].get<double>();
  }
  if (plan.early_terminate.rule != search::Rule::None && !plan.metric.name.empty()) {
    const track::Curve curve = KEDGE_TRY(store.read_history(key, plan.metric.name));
    for (const track::Point& point : curve.points) {
      view.trial.curve.push_back(point.value);
    }
  }
  if (view.trial.state != search::TrialState::Running) {
    sweep::TrialResult result{.state = view.trial.state, .metric = view.trial.metric};
    result.seconds = static_cast<double>(
                         std::max<std::int64_t>(0, run->facts.ended_us - run->facts.created_us)) /
                     kSecond_us;
    result.host = run->facts.host;
    result.ended = render_time(run->facts.ended_us);
    view.result = std::move(result);
  }
  return view;
}

}  // namespace

sweep::TrialView view_of(const store::SweepTrial& trial) {
  sweep::TrialView view;
  view.trial.number = trial.number;
  view.trial.values = trial.values;
  view.trial.curve = sweep::parse_curve(trial.curve);
  view.run = trial.run_id;
  view.trial.attempts = static_cast<int>(trial.attempts);
  view.failures = static_cast<int>(trial.failures);
  if (trial.result.is_object()) {
    view.result = sweep::parse_result(trial.result);
  }
  sweep::conclude_state(view, trial.is_paused);
  if (view.trial.state == search::TrialState::Running && trial.holder.empty()) {
    view.trial.state = search::TrialState::Waiting;
  }
  return view;
}

Result<search::SweepPlan> plan_of(const store::HostedSweep& sweep) {
  if (sweep.facts.empty()) {
    return search::parse_sweep(sweep.config, "the sweep's config");
  }
  const auto facts =
      KEDGE_TRY(sweep::parse_facts(KEDGE_TRY(parse_json(sweep.facts)), "the sweep's facts"));
  const bool is_table = facts.file == "sweep.csv";
  search::SweepPlan plan = KEDGE_TRY(sweep::read_plan(sweep.config, "the sweep's file", is_table));
  plan.metric = is_table ? facts.metric : plan.metric;
  return plan;
}

std::string state_of(const store::HostedSweep& sweep, const search::SweepPlan& plan,
                     const std::vector<sweep::TrialView>& trials) {
  const auto expected = search::expected_runs(plan);
  const bool has_ended = std::ranges::all_of(trials, [](const sweep::TrialView& view) {
    return view.result.has_value() || view.trial.state == search::TrialState::Paused;
  });
  if (expected && static_cast<std::int64_t>(trials.size()) >= *expected && has_ended) {
    return "finished";
  }
  switch (sweep.state) {
    case store::SweepState::Paused:
      return "paused";
    case store::SweepState::Finished:
      return sweep.facts.empty() ? "finished" : "stopped";
    case store::SweepState::Canceled:
      return "cancelled";
    default:
      return "running";
  }
}

Result<std::vector<sweep::TrialView>> SweepHost::read_trials(
    const store::HostedSweep& sweep) const {
  std::vector<sweep::TrialView> views;
  const search::SweepPlan plan =
      sweep.facts.empty() ? KEDGE_TRY(plan_of(sweep)) : search::SweepPlan{};
  for (const store::SweepTrial& trial : KEDGE_TRY(sweeps_.list_trials(sweep.id))) {
    views.push_back(sweep.facts.empty() ? KEDGE_TRY(view_of_run(store_, sweep, plan, trial))
                                        : view_of(trial));
  }
  return views;
}

Result<nlohmann::json> SweepHost::render_trials(const store::HostedSweep& sweep) const {
  nlohmann::json list = nlohmann::json::array();
  if (sweep.facts.empty()) {
    for (const sweep::TrialView& view : KEDGE_TRY(read_trials(sweep))) {
      list.push_back(sweep::render_trial(view));
    }
    return list;
  }
  for (const store::SweepTrial& trial : KEDGE_TRY(sweeps_.list_trials(sweep.id))) {
    list.push_back(sweep::render_trial(view_of(trial)));
    list.back()["holder"] = trial.holder;
  }
  return list;
}

Result<nlohmann::json> SweepHost::find_known(const store::HostedSweep& sweep,
                                             const nlohmann::json& values) const {
  const std::string identity = search::identity_of(values);
  const nlohmann::json facts = KEDGE_TRY(parse_json(sweep.facts));
  const std::string metric = KEDGE_TRY(plan_of(sweep)).metric.name;
  for (const store::HostedSweep& other : KEDGE_TRY(sweeps_.list(sweep.project))) {
    const auto plan = other.facts.empty() || other.id == sweep.id
                          ? Result<search::SweepPlan>(fail(ErrorKind::NotFound, ""))
                          : plan_of(other);
    const auto theirs = plan ? parse_json(other.facts) : Result<nlohmann::json>(nullptr);
    if (!plan || plan->metric.name != metric || !theirs || !theirs->is_object() ||
        theirs->value("code", "") != facts.value("code", "") ||
        theirs->value("data", "") != facts.value("data", "")) {
      continue;
    }
    for (const store::SweepTrial& trial : KEDGE_TRY(sweeps_.list_trials(other.id))) {
      if (trial.result.is_object() && trial.result.value("state", "") == "finished" &&
          search::identity_of(trial.values) == identity) {
        nlohmann::json result = trial.result;
        result["reused"] = fmt::format("{}/{}", other.name, trial.number);
        return result;
      }
    }
  }
  return nlohmann::json();
}

}  // namespace kedge::server
