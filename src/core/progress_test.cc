#include "core/progress.h"

#include <gtest/gtest.h>

namespace kedge {
namespace {

TEST(Progress, shows_share_detail_rate_and_time_left) {
  EXPECT_EQ(render_progress({.title = "epoch 1/2",
                             .detail = "loss 0.5",
                             .item_name = "samples",
                             .done = 25,
                             .total = 100,
                             .items = 5000,
                             .elapsed_s = 2}),
            "epoch 1/2 [======>                 ]  25%  loss 0.5  2.5k samples/s  ETA 6.0s");
}

TEST(Progress, resumed_work_has_the_rate_and_time_of_what_is_done_now) {
  EXPECT_EQ(render_progress({.title = "t",
                             .detail = "",
                             .item_name = "samples",
                             .first = 50,
                             .done = 75,
                             .total = 100,
                             .items = 100,
                             .elapsed_s = 2}),
            "t [==================>     ]  75%  50 samples/s  ETA 2.0s");
}

TEST(Progress, a_finished_bar_is_full_and_has_no_time_left) {
  EXPECT_EQ(render_progress({.title = "t",
                             .detail = "",
                             .item_name = "files",
                             .done = 4,
                             .total = 4,
                             .items = 4,
                             .elapsed_s = 1}),
            "t [========================] 100%  4 files/s");
}

}  // namespace
}  // namespace kedge
