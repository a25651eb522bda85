#include "train/schedules/schedule.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace kedge::train {
namespace {

std::string_view plural(config::ScheduleUnit unit) {
  return unit == config::ScheduleUnit::Step ? "optimizer steps" : "epochs";
}

}  // namespace

Result<std::int64_t> schedule_length(const config::ScheduleConfig& config, const Horizon& horizon) {
  const std::int64_t length = config.length > 0 ? config.length : horizon.in(config.unit);
  if (length <= 0) {
    return fail(ErrorKind::Usage,
                fmt::format("schedule.name={} has no end: schedule.length is 0 and training has no "
                            "known number of {} after the warm-up",
                            config.name, plural(config.unit)),
                "set schedule.length, or make schedule.warmup shorter than the training");
  }
  return length;
}

Result<LearningRate> LearningRate::make(const config::ScheduleConfig& config, double peak,
                                        const Horizon& horizon) {
  const std::int64_t total = horizon.in(config.unit);
  if (total > 0 && config.warmup > total) {
    return fail(ErrorKind::Usage,
                fmt::format("schedule.warmup is {} {}, but training has only {}", config.warmup,
                            plural(config.unit), total),
                "make schedule.warmup smaller, or set schedule.unit (step or epoch)");
  }
  LearningRate rate;
  rate.config_ = config;
  rate.peak_ = peak;
  if (horizon.steps > 0 && horizon.epochs > 0) {
    rate.steps_per_epoch_ =
        static_cast<double>(horizon.steps) / static_cast<double>(horizon.epochs);
  }
  Horizon rest = horizon;
  std::int64_t& left = config.unit == config::ScheduleUnit::Step ? rest.steps : rest.epochs;
  left = std::max<std::int64_t>(0, left - config.warmup);
  rate.schedule_ = KEDGE_TRY(Schedules::make("schedule", config.name, config, rest));
  return rate;
}

double LearningRate::at(std::int64_t steps, std::int64_t epochs) const {
  const bool is_in_steps = config_.unit == config::ScheduleUnit::Step;
  const std::int64_t time = is_in_steps ? steps : epochs;
  if (time >= config_.warmup) {
    return peak_ * schedule_->factor(time - config_.warmup);
  }
  double exact = static_cast<double>(time);
  if (!is_in_steps && steps_per_epoch_ > 0) {
    exact += std::clamp(static_cast<double>(steps) / steps_per_epoch_ - exact, 0.0, 1.0);
  }
  const double begin = config_.warmup_start;
  const double end = schedule_->factor(0);
  return peak_ * (begin + (end - begin) * exact / static_cast<double>(config_.warmup));
}

}  // namespace kedge::train
