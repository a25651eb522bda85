// Sweeps that this server keeps: who works on which trial, and what is handed out next, to agents
// of our own and to W&B's. Every call of an agent may be repeated and gives the same answer again,
// so that an answer lost on the way costs nothing. Who was heard of when is in memory only: after a
// restart everybody has time to call.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "search/hand_out.h"
#include "search/sweep_plan.h"
#include "store/hosted_sweeps.h"
#include "store/store.h"
#include "sweep/sweep.h"

namespace kedge::server {

inline constexpr double kSecond_us = 1e6;

struct ClaimRequest {
  std::string agent;              // a name that no other process has
  std::vector<std::string> dead;  // agents that the caller knows to have died
};

class SweepHost {
 public:
  SweepHost(store::Store& store, std::function<std::int64_t()> now_us)
      : store_(store), sweeps_(store), now_us_(std::move(now_us)), opened_us_(now_us_()) {}

  // The sweep's one lock: whoever hands out its trials, ends them or changes its state holds it,
  // and reads what it goes by while it does. 0: of sweeps that are being made.
  std::unique_lock<std::mutex> hold(std::int64_t sweep);

  // NotFound: there is no such sweep.
  Result<store::HostedSweep> load(const std::string& project, const std::string& id) const;

  // Makes it, or gives the one that is there; Usage when that has another file.
  Result<store::HostedSweep> put(const store::HostedSweep& sweep);

  Result<void> control(const store::HostedSweep& sweep, const sweep::Control& control);

  // With the trials of other tools' sweeps as their runs tell.
  Result<std::vector<sweep::TrialView>> read_trials(const store::HostedSweep& sweep) const;
  Result<nlohmann::json> render_trials(const store::HostedSweep& sweep) const;

  // {"trial": ..., "promoted", "spent_s"} or {"end", "open"}.
  Result<nlohmann::json> claim(const store::HostedSweep& sweep, const ClaimRequest& request);

  // Whether the agent holds the trial.
  Result<bool> beat(const store::HostedSweep& sweep, std::int64_t number, const std::string& agent);
  Result<void> note_progress(const store::HostedSweep& sweep, std::int64_t number,
                             const std::string& agent, const nlohmann::json& curve);
  // True when this is the result that counts.
  Result<bool> add_result(const store::HostedSweep& sweep, std::int64_t number,
                          const std::string& agent, const nlohmann::json& result);
  Result<void> release(const store::HostedSweep& sweep, std::int64_t number,
                       const std::string& agent, bool is_paused);
  Result<bool> retry(const store::HostedSweep& sweep, std::int64_t number);
  Result<bool> add_ended(const store::HostedSweep& sweep, const nlohmann::json& trial);

  // The result of a trial of another sweep with the same values, code and data; null: none.
  Result<nlohmann::json> find_known(const store::HostedSweep& sweep,
                                    const nlohmann::json& values) const;

 private:
  void note_alive(const std::string& agent);
  bool is_silent(const std::string& agent);
  Result<nlohmann::json> give(const store::HostedSweep& sweep, std::int64_t number,
                              const std::string& agent);
  Result<nlohmann::json> begin(const store::HostedSweep& sweep, const search::Offer& offer,
                               const std::string& agent);
  Result<bool> end_trial(const store::HostedSweep& sweep, std::int64_t number,
                         const std::string& agent, const nlohmann::json& result);

  store::Store& store_;
  mutable store::HostedSweeps sweeps_;
  std::function<std::int64_t()> now_us_;
  std::int64_t opened_us_;
  std::mutex mutex_;  // guards locks_ and heard_us_
  std::map<std::int64_t, std::mutex> locks_;
  std::map<std::string, std::int64_t> heard_us_;
};

// A trial of a sweep of our own.
sweep::TrialView view_of(const store::SweepTrial& trial);

// The plan of its file or table.
Result<search::SweepPlan> plan_of(const store::HostedSweep& sweep);

// "running", "paused", "stopped", "cancelled", or "finished" when all that is expected has ended.
std::string state_of(const store::HostedSweep& sweep, const search::SweepPlan& plan,
                     const std::vector<sweep::TrialView>& trials);

}  // namespace kedge::server
