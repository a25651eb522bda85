#include <cmath>
#include <memory>

#include "train/schedules/schedule.h"

namespace kedge::train {
namespace {

class Exponential : public Schedule {
 public:
  explicit Exponential(double gamma) : gamma_(gamma) {}

  double factor(std::int64_t t) const override { return std::pow(gamma_, static_cast<double>(t)); }

 private:
  double gamma_;
};

const Schedules::Add kAddExponential({
    .name = "exponential",
    .summary = "times gamma every unit",
    .make = [](const config::ScheduleConfig& config,
               const Horizon& /*horizon*/) -> Result<std::unique_ptr<Schedule>> {
      return std::make_unique<Exponential>(config.gamma);
    },
    .reads = {"gamma"},
});

}  // namespace
}  // namespace kedge::train
