// A Schedule gives the learning rate as a share of its peak. All but plateau are pure functions of
// the time in training, so that nothing but the time needs saving.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/train_config.h"
#include "core/registry.h"

namespace kedge::train {

// How long training is, in optimizer steps and epochs.
struct Horizon {
  std::int64_t steps = 0;
  std::int64_t epochs = 0;

  std::int64_t in(config::ScheduleUnit unit) const {
    return unit == config::ScheduleUnit::Step ? steps : epochs;
  }
};

class Schedule {
 public:
  virtual ~Schedule() = default;

  // The factor at time t = 0, 1, 2, ... in the schedule's unit, warm-up not counted.
  virtual double factor(std::int64_t t) const = 0;

  // Told after each validation; only plateau listens, and it counts validations.
  virtual void observe(double /*metric*/, bool /*more_is_better*/) {}

  // What a resumed run needs beyond the time; empty for all but plateau.
  virtual std::vector<double> state() const { return {}; }

  virtual void restore(const std::vector<double>& /*state*/) {}
};

// A schedule is one file in train/schedules/, registered by name. Its Horizon is what is left
// after the warm-up.
using Schedules = Registry<Schedule, config::ScheduleConfig, Horizon>;

// How long a schedule with an end runs: schedule.length, or the horizon where that is 0.
Result<std::int64_t> schedule_length(const config::ScheduleConfig& config, const Horizon& horizon);

// A schedule with its warm-up in front, as the loop uses it. The warm-up is a line from
// warmup_start * peak to where the schedule begins. Counted in epochs it still rises with every
// step: a whole first epoch at warmup_start = 0 would learn nothing.
class LearningRate {
 public:
  // The horizon is that of the whole training, warm-up included; zeros where it is unknown.
  static Result<LearningRate> make(const config::ScheduleConfig& config, double peak,
                                   const Horizon& horizon);

  // The rate for the optimizer step that comes after `steps` steps and `epochs` whole epochs.
  double at(std::int64_t steps, std::int64_t epochs) const;

  Schedule& schedule() { return *schedule_; }

 private:
  config::ScheduleConfig config_;
  double peak_ = 0;
  double steps_per_epoch_ = 0;  // 0: unknown
  std::unique_ptr<Schedule> schedule_;
};

}  // namespace kedge::train
