#include <algorithm>
#include <memory>

#include "train/schedules/schedule.h"

namespace kedge::train {
namespace {

class Linear : public Schedule {
 public:
  Linear(double floor, std::int64_t length) : floor_(floor), length_(length) {}

  double factor(std::int64_t t) const override {
    const double done = static_cast<double>(std::min(t, length_)) / static_cast<double>(length_);
    return 1 + (floor_ - 1) * done;
  }

 private:
  double floor_;
  std::int64_t length_;
};

const Schedules::Add kAddLinear({
    .name = "linear",
    .summary = "a line from 1 down to floor over length, then floor",
    .make = [](const config::ScheduleConfig& config,
               const Horizon& horizon) -> Result<std::unique_ptr<Schedule>> {
      return std::make_unique<Linear>(config.floor, KEDGE_TRY(schedule_length(config, horizon)));
    },
    .reads = {"length", "floor"},
});

}  // namespace
}  // namespace kedge::train
