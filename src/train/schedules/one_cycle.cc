#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "train/schedules/schedule.h"

namespace kedge::train {
namespace {

class OneCycle : public Schedule {
 public:
  OneCycle(const config::ScheduleConfig& config, std::int64_t length)
      : start_(1 / config.div_factor),
        end_(start_ / config.final_div_factor),
        peak_at_(config.pct_start * static_cast<double>(length) - 1),
        last_(static_cast<double>(length - 1)) {}

  double factor(std::int64_t t) const override {
    const double now = std::min(static_cast<double>(t), last_);
    if (now < peak_at_) {
      return anneal(start_, 1, now / peak_at_);
    }
    // PyTorch divides by zero where the peak is the last unit (pct_start = 1).
    return last_ > peak_at_ ? anneal(1, end_, (now - peak_at_) / (last_ - peak_at_)) : 1;
  }

 private:
  static double anneal(double from, double to, double share) {
    return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * share));
  }

  double start_;
  double end_;
  double peak_at_;
  double last_;
};

const Schedules::Add kAddOneCycle({
    .name = "one_cycle",
    .summary = "up from 1 / div_factor to 1, then down to nothing, in cosine shape; momentum is "
               "not cycled",
    .make = [](const config::ScheduleConfig& config,
               const Horizon& horizon) -> Result<std::unique_ptr<Schedule>> {
      return std::make_unique<OneCycle>(config, KEDGE_TRY(schedule_length(config, horizon)));
    },
    .reads = {"length", "pct_start", "div_factor", "final_div_factor"},
});

}  // namespace
}  // namespace kedge::train
