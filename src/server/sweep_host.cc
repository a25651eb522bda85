#include "server/sweep_host.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/result.h"
#include "search/hand_out.h"
#include "search/trial.h"
#include "sweep/trial_files.h"
#include "track/attempt.h"

namespace kedge::server {
namespace {

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
  const auto lock = hold(0);
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

Result<void> SweepHost::control(const store::HostedSweep& asked, const sweep::Control& control) {
  const auto lock = hold(asked.id);
  store::HostedSweep sweep = KEDGE_TRY(load(asked.project, asked.name));
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

std::unique_lock<std::mutex> SweepHost::hold(std::int64_t sweep) {
  std::mutex* own = nullptr;
  {
    // Not while waiting: who holds a sweep's lock takes this one.
    const std::lock_guard lock(mutex_);
    own = &locks_[sweep];
  }
  return std::unique_lock(*own);
}

void SweepHost::note_alive(const std::string& agent) {
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

Result<nlohmann::json> SweepHost::begin(const store::HostedSweep& sweep, const search::Offer& offer,
                                        const std::string& agent) {
  store::SweepTrial trial;
  trial.number = offer.number;
  trial.run_id = sweep::run_name(sweep.name, offer.number);
  trial.values = offer.values;
  trial.holder = agent;
  trial.attempts = 1;
  trial.began_us = now_us_();
  KEDGE_TRY(sweeps_.add_trial(sweep.id, trial));
  return nlohmann::json{{"trial", sweep::render_trial(view_of(trial))}, {"spent_s", 0.0}};
}

Result<nlohmann::json> SweepHost::claim(const store::HostedSweep& asked,
                                        const ClaimRequest& request) {
  note_alive(request.agent);
  const auto lock = hold(asked.id);
  const store::HostedSweep sweep = KEDGE_TRY(load(asked.project, asked.name));
  const auto rows = KEDGE_TRY(sweeps_.list_trials(sweep.id));
  auto trials = sweep::trials_of(KEDGE_TRY(read_trials(sweep)));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string& holder = rows[i].holder;
    if (trials[i].state != search::TrialState::Running || holder.empty()) {
      continue;
    }
    if (holder == request.agent) {
      return give(sweep, rows[i].number, request.agent);  // the answer before was lost
    }
    if (std::ranges::find(request.dead, holder) != request.dead.end() || is_silent(holder)) {
      trials[i].state = search::TrialState::Waiting;
    }
  }
  if (sweep.state != store::SweepState::Pending && sweep.state != store::SweepState::Running) {
    return nlohmann::json{{"end", "the sweep does not run"}};
  }
  const search::SweepPlan plan = KEDGE_TRY(plan_of(sweep));
  for (;;) {
    const search::Offer offer = KEDGE_TRY(search::next_offer(plan, trials));
    if (offer.kind == search::Offer::Kind::None) {
      return nlohmann::json{
          {"end", offer.end},
          {"open", std::ranges::count(trials, search::TrialState::Running, &search::Trial::state)}};
    }
    if (offer.kind == search::Offer::Kind::New) {
      return begin(sweep, offer, request.agent);
    }
    if (offer.kind == search::Offer::Kind::GiveUp) {
      KEDGE_TRY(end_trial(sweep, rows[offer.index].number, rows[offer.index].holder,
                          sweep::result_json(sweep::never_ended())));
      trials[offer.index].state = search::TrialState::Failed;
      continue;
    }
    nlohmann::json given = KEDGE_TRY(give(sweep, rows[offer.index].number, request.agent));
    given["promoted"] = offer.kind == search::Offer::Kind::Promote;
    return given;
  }
}

Result<bool> SweepHost::beat(const store::HostedSweep& sweep, std::int64_t number,
                             const std::string& agent) {
  note_alive(agent);
  const auto trial = KEDGE_TRY(sweeps_.find_trial(sweep.id, number));
  return trial && trial->holder == agent;
}

Result<void> SweepHost::note_progress(const store::HostedSweep& sweep, std::int64_t number,
                                      const std::string& agent, const nlohmann::json& curve) {
  note_alive(agent);
  return sweeps_.edit_trial(sweep.id, number, [&](store::SweepTrial& trial) -> Result<void> {
    if (trial.holder == agent) {
      trial.curve = curve;
    }
    return {};
  });
}

Result<bool> SweepHost::add_result(const store::HostedSweep& sweep, std::int64_t number,
                                   const std::string& agent, const nlohmann::json& result) {
  const auto lock = hold(sweep.id);
  return end_trial(sweep, number, agent, result);
}

Result<bool> SweepHost::end_trial(const store::HostedSweep& sweep, std::int64_t number,
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

Result<void> SweepHost::release(const store::HostedSweep& sweep, std::int64_t number,
                                const std::string& agent, bool is_paused) {
  const auto lock = hold(sweep.id);
  return sweeps_.edit_trial(sweep.id, number, [&](store::SweepTrial& trial) -> Result<void> {
    if (trial.holder == agent) {
      stop_clock(trial, now_us_());
      trial.is_paused = is_paused;
    }
    return {};
  });
}

Result<bool> SweepHost::retry(const store::HostedSweep& sweep, std::int64_t number) {
  const auto lock = hold(sweep.id);
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
  const auto lock = hold(sweep.id);
  const auto rows = KEDGE_TRY(sweeps_.list_trials(sweep.id));
  if (view.trial.number != static_cast<std::int64_t>(rows.size()) + 1) {
    return false;
  }
  store::SweepTrial row;
  row.number = view.trial.number;
  row.run_id = view.run;
  row.values = view.trial.values;
  row.attempts = view.trial.attempts;
  row.failures = view.failures;
  row.result = sweep::result_json(*view.result);
  row.curve = trial.value("curve", nlohmann::json::array());
  KEDGE_TRY(sweeps_.add_trial(sweep.id, row));
  return true;
}

}  // namespace kedge::server
