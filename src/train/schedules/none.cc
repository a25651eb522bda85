#include <memory>

#include "train/schedules/schedule.h"

namespace kedge::train {
namespace {

class Constant : public Schedule {
 public:
  double factor(std::int64_t /*t*/) const override { return 1; }
};

const Schedules::Add kAddNone({
    .name = "none",
    .summary = "the same rate throughout",
    .make = [](const config::ScheduleConfig& /*config*/, const Horizon& /*horizon*/)
        -> Result<std::unique_ptr<Schedule>> { return std::make_unique<Constant>(); },
});

}  // namespace
}  // namespace kedge::train
