// Warm-up, stable, decay (Hu et al. 2024, MiniCPM): the rate stays at its peak and falls only at
// the end, so that the stable part can be made longer without beginning again.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "train/schedules/schedule.h"

namespace kedge::train {
namespace {

// How much of the fall is left when a fraction `done` of its time is over.
double left_of(config::DecayShape shape, double done) {
  switch (shape) {
    case config::DecayShape::Linear:
      return 1 - done;
    case config::DecayShape::Cosine:
      return (1 + std::cos(std::numbers::pi * done)) / 2;
    case config::DecayShape::Sqrt:
      return 1 - std::sqrt(done);
  }
  return 0;
}

class Wsd : public Schedule {
 public:
  Wsd(const config::ScheduleConfig& config, std::int64_t length)
      : shape_(config.decay_shape),
        floor_(config.floor),
        decay_(std::max(1.0, std::round(config.decay * static_cast<double>(length)))),
        stable_(static_cast<double>(length) - decay_) {}

  double factor(std::int64_t t) const override {
    const double done = std::clamp((static_cast<double>(t) - stable_) / decay_, 0.0, 1.0);
    return floor_ + (1 - floor_) * left_of(shape_, done);
  }

 private:
  config::DecayShape shape_;
  double floor_;
  double decay_;   // units of the fall
  double stable_;  // units before it
};

const Schedules::Add kAddWsd({
    .name = "wsd",
    .summary = "1 until the last `decay` of length, then down to floor; with warmup: "
               "warm-up, stable, decay",
    .make = [](const config::ScheduleConfig& config,
               const Horizon& horizon) -> Result<std::unique_ptr<Schedule>> {
      return std::make_unique<Wsd>(config, KEDGE_TRY(schedule_length(config, horizon)));
    },
    .reads = {"length", "floor", "decay", "decay_shape"},
});

}  // namespace
}  // namespace kedge::train
