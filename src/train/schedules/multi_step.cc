#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "train/schedules/schedule.h"

namespace kedge::train {
namespace {

class MultiStep : public Schedule {
 public:
  explicit MultiStep(const config::ScheduleConfig& config)
      : gamma_(config.gamma), milestones_(config.milestones) {}

  double factor(std::int64_t t) const override {
    const auto passed =
        std::ranges::count_if(milestones_, [t](std::int64_t milestone) { return milestone <= t; });
    return std::pow(gamma_, static_cast<double>(passed));
  }

 private:
  double gamma_;
  std::vector<std::int64_t> milestones_;
};

const Schedules::Add kAddMultiStep({
    .name = "multi_step",
    .summary = "times gamma at each of milestones, counted from the end of the warm-up",
    .make = [](const config::ScheduleConfig& config,
               const Horizon& /*horizon*/) -> Result<std::unique_ptr<Schedule>> {
      if (config.milestones.empty()) {
        return fail(ErrorKind::Usage, "schedule.name=multi_step without schedule.milestones",
                    "say when the rate drops, for example schedule.milestones=[30,60,80]");
      }
      return std::make_unique<MultiStep>(config);
    },
    .reads = {"milestones", "gamma"},
});

}  // namespace
}  // namespace kedge::train
