#include <algorithm>
#include <cmath>
#include <memory>

#include "train/schedules/schedule.h"

namespace kedge::train {
namespace {

class InverseSqrt : public Schedule {
 public:
  explicit InverseSqrt(std::int64_t warmup)
      : scale_(static_cast<double>(std::max<std::int64_t>(1, warmup))) {}

  double factor(std::int64_t t) const override {
    return std::sqrt(scale_ / (scale_ + static_cast<double>(t)));
  }

 private:
  double scale_;
};

const Schedules::Add kAddInverseSqrt({
    .name = "inverse_sqrt",
    .summary = "sqrt(w / (w + t)) after a warm-up of w units (w = 1 without one)",
    .make = [](const config::ScheduleConfig& config,
               const Horizon& /*horizon*/) -> Result<std::unique_ptr<Schedule>> {
      return std::make_unique<InverseSqrt>(config.warmup);
    },
});

}  // namespace
}  // namespace kedge::train
