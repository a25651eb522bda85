// Whether training should stop now, save and be run again: a signal, the end of the job's time, a
// limit of the config. Asked at every step boundary.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "config/config.h"
#include "core/signals.h"
#include "core/time_limit.h"

namespace kedge::train {

class StopRule {
 public:
  using Clock = std::chrono::system_clock;

  // `limit` is the job's, if it has one; `signals` must outlive the rule.
  StopRule(const config::Config& config, const StopSignals& signals,
           const std::optional<TimeLimit>& limit, Clock::time_point started);

  // Stops after this step as well; for verify-resume.
  void stop_after(std::int64_t step) { last_step_ = step; }

  // Why to stop, if `reserve_s` from now is too late to begin to save.
  std::optional<std::string> reason(std::int64_t step, double reserve_s) const;

  // The same for moments that are no step boundary, without the step.
  std::optional<std::string> reason(double reserve_s) const;

  // "Slurm job 12, ends at 14:05"; empty: no limit.
  const std::string& limit_text() const { return limit_text_; }

 private:
  const StopSignals& signals_;
  std::optional<Clock::time_point> end_;
  std::string limit_text_;
  std::optional<Clock::time_point> checkpoint_at_;  // job.checkpoint_every
  std::int64_t last_step_ = 0;
};

}  // namespace kedge::train
