#include "train/internal/stop_rule.h"

#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "core/units.h"

namespace kedge::train {
namespace {

StopRule::Clock::time_point after(StopRule::Clock::time_point start, Seconds time) {
  return start + std::chrono::duration_cast<StopRule::Clock::duration>(
                     std::chrono::duration<double>(time.value));
}

}  // namespace

StopRule::StopRule(const config::Config& config, const StopSignals& signals,
                   const std::optional<TimeLimit>& limit, Clock::time_point started)
    : signals_(signals) {
  if (limit) {
    end_ = limit->end;
    const std::time_t end = Clock::to_time_t(limit->end);
    std::tm local{};
    ::localtime_r(&end, &local);
    limit_text_ = fmt::format("{}, ends at {:%F %T}", limit->source, local);
  }
  if (config.train.max_time.value > 0) {
    const Clock::time_point own = after(started, config.train.max_time);
    if (!end_ || own < *end_) {
      end_ = own;
      limit_text_ = fmt::format("train.max_time {}", render_seconds(config.train.max_time));
    }
  }
  if (config.job.checkpoint_every.value > 0) {
    checkpoint_at_ = after(started, config.job.checkpoint_every);
  }
}

std::optional<std::string> StopRule::reason(std::int64_t step, double reserve_s) const {
  if (last_step_ > 0 && step >= last_step_) {
    return fmt::format("step {} was the last one asked for", last_step_);
  }
  return reason(reserve_s);
}

std::optional<std::string> StopRule::reason(double reserve_s) const {
  if (signals_.requested()) {
    return std::string(signals_.name());
  }
  if (!end_ && !checkpoint_at_) {
    return std::nullopt;
  }
  const Clock::time_point now = Clock::now();
  if (end_ && after(now, {reserve_s}) >= *end_) {
    return fmt::format("the time is up ({})", limit_text_);
  }
  if (checkpoint_at_ && now >= *checkpoint_at_) {
    return "job.checkpoint_every";
  }
  return std::nullopt;
}

}  // namespace kedge::train
