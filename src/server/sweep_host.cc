#include "server/sweep_host.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/result.h"
#include "search/early_stop.h"
#include "search/propose.h"
#include "search/trial.h"
#include "sweep/trial_files.h"
#include "track/attempt.h"

namespace kedge::server {
namespace {

std::vector<search::Trial> trials_of(const std::vector<sweep::TrialView>& views) {
  std::vector<search::Trial> trials;
  trials.reserve(views.size());
  for (const sweep::TrialView& view : views) {
    trials.push_back(view.trial);
  }
  return trials;
}

bool is_open(const sweep::TrialView& view) {
  return view.trial.state == search::TrialState::Waiting ||
         view.trial.state == search::TrialState::Running;
}

void stop_clock(store::SweepTrial& trial, std::int64_t now_us) {
  trial.spent_us += trial.holder.empty() ? 0 : std::max<std::int64_t>(0, now_us - trial.began_us);
  trial.holder.clear();
}

}  // namespace

Result<store::HostedSweep> SweepHost::load(const std::string& project,
                                           const std::string& id) const {
  auto found = KEDGE_TRY(sweeps_.find(project, id));
  if (!found) {
    return fail(ErrorKind::NotFound, fmt::format("there is no sweep '{}/{}'", project, id));
  }
  return std::move(*found);
}

Result<store::HostedSweep> SweepHost::put(const store::HostedSweep& sweep) {
  KEDGE_TRY(plan_of(sweep));
  const std::lock_guard lock(handing_out_);
  if (auto found = KEDGE_TRY(sweeps_.find(sweep.project, sweep.name))) {
    if (found->config != sweep.config) {
      return fail(ErrorKind::Usage, fmt::format("sweep {} is there with another file", sweep.name),
                  "trials belong to the file that the sweep was made with");
    }
    return std::move(*found);
  }
  if (!store_.find_project(sweep.project)) {
    KEDGE_TRY(store_.create_project({.name = sweep.project}, now_us_()));
  }
  return sweeps_.create(sweep, now_us_());
}

Result<void> SweepHost::control(store::HostedSweep sweep, const sweep::Control& control) {
  switch (control.state) {
    case sweep::SweepState::Running:
      sweep.state = store::SweepState::Running;
      break;
    case sweep::SweepState::Paused:
      sweep.state = store::SweepState::Paused;
      break;
    case sweep::SweepState::Stopped:
      sweep.state = store::SweepState::Finished;
      break;
    case sweep::SweepState::Cancelled:
      sweep.state = store::SweepState::Canceled;
      break;
  }
  sweep.reason = control.reason;
  return sweeps_.put(sweep, now_us_());
}

void SweepHost::hear_from(const std::string& agent) {
  const std::lock_guard lock(mutex_);
  heard_us_[agent] = now_us_();
}

bool SweepHost::is_silent(const std::string& agent) {
  const std::lock_guard lock(mutex_);
  const auto found = heard_us_.find(agent);
  const std::int64_t heard_us = found == heard_us_.end() ? opened_us_ : found->second;
  const double silence_s = static_cast<double>(now_us_() - heard_us) / kSecond_us;
  return silence_s > std::chrono::duration<double>(track::kDeadAfter).count();
}

Result<nlohmann::json> SweepHost::give(const store::HostedSweep& sweep, std::int64_t number,
                                       const std::string& agent) {
  store::SweepTrial given;
  KEDGE_TRY(sweeps_.edit_trial(sweep.id, number, [&](store::SweepTrial& trial) -> Result<void> {
    if (trial.holder != agent) {
      stop_clock(trial, now_us_());
      trial.holder = agent;
      trial.attempts += 1;
      trial.began_us = now_us_();
    }
    trial.is_paused = false;
    given = trial;
    return {};
  }));
  return nlohmann::json{{"trial", sweep::render_trial(view_of(given))},
                        {"spent_s", static_cast<double>(given.spent_us) / kSecond_us}};
}

Result<nlohmann::json> SweepHost::hand_out(const store::HostedSweep& sweep,
                                           const search::SweepPlan& plan,
                                           const std::vector<sweep::TrialView>& views,
                                           const std::string& agent) {
  const auto proposals = KEDGE_TRY(search::propose(plan, trials_of(views), 1));
  if (proposals.values.empty()) {
    return nlohmann::json{{"end", proposals.end}};
  }
  store::SweepTrial trial;
  trial.number = static_cast<std::int64_t>(views.size()) + 1;
  trial.run_id = fmt::format("{}-{:04}", sweep.name, trial.number);
  trial.values = proposals.values.front();
  trial.holder = agent;
  trial.attempts = 1;
  trial.began_us = now_us_();
  KEDGE_TRY(sweeps_.add_trial(sweep.id, trial));
  return nlohmann::json{{"trial", sweep::render_trial(view_of(trial))}, {"spent_s", 0.0}};
}

Result<nlohmann::json> SweepHost::claim(const store::HostedSweep& asked,
                                        const ClaimRequest& request) {
  hear_from(request.agent);
  const std::lock_guard lock(handing_out_);
  const store::HostedSweep sweep = KEDGE_TRY(load(asked.project, asked.name));
  const auto rows = KEDGE_TRY(sweeps_.list_trials(sweep.id));
  const auto views = KEDGE_TRY(read_trials(sweep));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (is_open(views[i]) && rows[i].holder == request.agent) {
      return give(sweep, rows[i].number, request.agent);  // the answer before was lost
    }
  }
  if (sweep.state != store::SweepState::Pending && sweep.state != store::SweepState::Running) {
    return nlohmann::json{{"end", "the sweep does not run"}};
  }
  std::int64_t open_count = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!is_open(views[i])) {
      continue;
    }
    ++open_count;
    const std::string& holder = rows[i].holder;
    const bool is_dead = std::ranges::find(request.dead, holder) != request.dead.end();
    if (!holder.empty() && !is_dead && !is_silent(holder)) {
      continue;
    }
    if (rows[i].attempts >= sweep::kAttemptsMax) {
      KEDGE_TRY(
          add_result(sweep, rows[i].number, holder, sweep::result_json(sweep::never_ended())));
      continue;
    }
    return give(sweep, rows[i].number, request.agent);
  }
  const search::SweepPlan plan = KEDGE_TRY(plan_of(sweep));
  for (const std::size_t index : search::find_promotions(plan, trials_of(views))) {
    nlohmann::json given = KEDGE_TRY(give(sweep, rows[index].number, request.agent));
    given["promoted"] = true;
    return given;
  }
  nlohmann::json answer = KEDGE_TRY(hand_out(sweep, plan, views, request.agent));
  answer["open"] = open_count;
  return answer;
}

Result<bool> SweepHost::beat(const store::HostedSweep& sweep, std::int64_t number,
                             const std::string& agent) {
  hear_from(agent);
  const auto trial = KEDGE_TRY(sweeps_.find_trial(sweep.id, number));
  return trial && trial->holder == agent;
}

Result<void> SweepHost::note_progress(const store::HostedSweep& sweep, std::int64_t number,
                                      const std::string& agent, const nlohmann::json& curve) {
  hear_from(agent);
  return sweeps_.edit_trial(sweep.id, number, [&](store::SweepTrial& trial) -> Result<void> {
    if (trial.holder == agent) {
      trial.curve = curve;
    }
    return {};
  });
}

Result<bool> SweepHost::add_result(const store::HostedSweep& sweep, std::int64_t number,
                                   const std::string& agent, const nlohmann::json& result) {
  bool is_ours = false;
  KEDGE_TRY(sweeps_.edit_trial(sweep.id, number, [&](store::SweepTrial& trial) -> Result<void> {
    if (trial.result.is_object()) {
      is_ours = trial.ended_by == agent && trial.result == result;  // told again
      return {};
    }
    is_ours = trial.holder.empty() || trial.holder == agent;
    if (is_ours) {
      stop_clock(trial, now_us_());
      trial.is_paused = false;
      trial.result = result;
      trial.ended_by = agent;
    }
    return {};
  }));
  return is_ours;
}

Result<void> SweepHost::let_go(const store::HostedSweep& sweep, std::int64_t number,
                               const std::string& agent, bool is_paused) {
  return sweeps_.edit_trial(sweep.id, number, [&](store::SweepTrial& trial) -> Result<void> {
    if (trial.holder == agent) {
      stop_clock(trial, now_us_());
      trial.is_paused = is_paused;
    }
    return {};
  });
}

Result<bool> SweepHost::retry(const store::HostedSweep& sweep, std::int64_t number) {
  bool is_opened = false;
  KEDGE_TRY(sweeps_.edit_trial(sweep.id, number, [&](store::SweepTrial& trial) -> Result<void> {
    is_opened = trial.result.is_object() && trial.result.value("state", "") != "finished";
    if (is_opened) {
      trial.result = nullptr;
      trial.ended_by.clear();
      trial.failures += 1;
    }
    return {};
  }));
  return is_opened;
}

Result<bool> SweepHost::add_ended(const store::HostedSweep& sweep, const nlohmann::json& trial) {
  const sweep::TrialView view = sweep::parse_trial(trial);
  if (!view.result) {
    return fail(ErrorKind::Usage, "only a trial with a result can be added");
  }
  const std::lock_guard lock(handing_out_);
  const auto rows = KEDGE_TRY(sweeps_.list_trials(sweep.id));
  if (view.trial.number != static_cast<std::int64_t>(rows.size()) + 1) {
    return false;
  }
  store::SweepTrial row;
  row.number = view.trial.number;
  row.run_id = view.run;
  row.values = view.trial.values;
  row.attempts = view.attempts;
  row.failures = view.failures;
  row.result = sweep::result_json(*view.result);
  row.curve = trial.value("curve", nlohmann::json::array());
  KEDGE_TRY(sweeps_.add_trial(sweep.id, row));
  return true;
}

}  // namespace kedge::server
