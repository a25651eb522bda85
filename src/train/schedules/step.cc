#include <cmath>
#include <memory>

#include "train/schedules/schedule.h"

namespace kedge::train {
namespace {

class Step : public Schedule {
 public:
  explicit Step(const config::ScheduleConfig& config)
      : gamma_(config.gamma), step_size_(config.step_size) {}

  double factor(std::int64_t t) const override {
    return std::pow(gamma_, static_cast<double>(t / step_size_));
  }

 private:
  double gamma_;
  std::int64_t step_size_;
};

const Schedules::Add kAddStep({
    .name = "step",
    .summary = "times gamma every step_size units",
    .make = [](const config::ScheduleConfig& config, const Horizon& /*horizon*/)
        -> Result<std::unique_ptr<Schedule>> { return std::make_unique<Step>(config); },
    .reads = {"step_size", "gamma"},
});

}  // namespace
}  // namespace kedge::train
