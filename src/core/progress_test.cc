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

TEST(Progress, the_time_left_of_all_counts_what_lies_between) {
  EXPECT_EQ(render_progress({.title = "epoch 1/3",
                             .detail = "",
                             .item_name = "samples",
                             .done = 50,
                             .total = 100,
                             .items = 100,
                             .elapsed_s = 5,
                             .more = 2,
                             .between_s = 3}),
            // 5 s of this one, and twice 10 s with 3 s before them.
            "epoch 1/3 [============>           ]  50%  20 samples/s  ETA 5.0s, all 31.0s");
}

TEST(Progress, a_line_fits_the_terminal) {
  ProgressLine line{.title = "epoch 10/10",
                    .detail = "loss 0.0612",
                    .item_name = "samples",
                    .done = 50,
                    .total = 100,
                    .items = 200'000,
                    .elapsed_s = 5,
                    .more = 0};
  line.columns = 79;
  EXPECT_EQ(render_progress(line),
            "epoch 10/10 [===========>          ]  50%  loss 0.0612  40k samples/s  ETA 5.0s");
  line.columns = 60;
  EXPECT_EQ(render_progress(line), "epoch 10/10 [=========>        ]  50%  loss 0.0612  ETA 5.0s");
  line.columns = 40;
  EXPECT_EQ(render_progress(line), "epoch 10/10  50%  loss 0.0612  ETA 5.0s");
  line.columns = 20;
  EXPECT_EQ(render_progress(line), "epoch 10/10  50%");
}

}  // namespace
}  // namespace kedge
