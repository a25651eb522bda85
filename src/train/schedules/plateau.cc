#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "train/schedules/schedule.h"

namespace kedge::train {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// An improvement must exceed this share of the best, as in PyTorch's ReduceLROnPlateau.
constexpr double kThreshold = 1e-4;

class Plateau : public Schedule {
 public:
  explicit Plateau(const config::ScheduleConfig& config)
      : gamma_(config.gamma), floor_(config.floor), patience_(config.patience) {}

  double factor(std::int64_t /*t*/) const override { return factor_; }

  void observe(double metric, bool more_is_better) override {
    if (is_better(metric, more_is_better)) {
      best_ = metric;
      bad_ = 0;
    } else {
      ++bad_;
    }
    if (bad_ > patience_) {
      factor_ = std::max(factor_ * gamma_, floor_);
      bad_ = 0;
    }
  }

  // factor, bad validations, and the best metric once there is one.
  std::vector<double> state() const override {
    std::vector<double> state = {factor_, static_cast<double>(bad_)};
    if (best_) {
      state.push_back(*best_);
    }
    return state;
  }

  void restore(const std::vector<double>& state) override {
    if (state.size() < 2) {
      return;  // saved under another schedule: the plateau begins afresh
    }
    factor_ = state[0];
    bad_ = std::llround(state[1]);
    best_ = state.size() > 2 ? std::optional(state[2]) : std::nullopt;
  }

 private:
  bool is_better(double metric, bool more_is_better) const {
    if (!best_) {
      return more_is_better ? metric > -kInfinity : metric < kInfinity;
    }
    return more_is_better ? metric > *best_ * (1 + kThreshold) : metric < *best_ * (1 - kThreshold);
  }

  double gamma_;
  double floor_;
  std::int64_t patience_;
  double factor_ = 1;
  std::int64_t bad_ = 0;  // validations since the best or the last drop
  std::optional<double> best_;
};

const Schedules::Add kAddPlateau({
    .name = "plateau",
    .summary = "times gamma, down to floor, when metric has not improved for patience validations",
    .make = [](const config::ScheduleConfig& config, const Horizon& /*horizon*/)
        -> Result<std::unique_ptr<Schedule>> { return std::make_unique<Plateau>(config); },
    .reads = {"metric", "patience", "gamma", "floor"},
});

}  // namespace
}  // namespace kedge::train
