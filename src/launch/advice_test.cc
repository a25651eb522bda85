#include "launch/advice.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace kedge::launch {
namespace {

constexpr Allowance kPool = {.gpus = 150, .cores = 2000};

bool says(const Advice& advice, std::string_view words) {
  return std::ranges::any_of(advice.reasons, [&](const std::string& reason) {
    return reason.find(words) != std::string::npos;
  });
}

const Route& route(const Advice& advice, std::string_view device) {
  return *std::ranges::find(advice.routes, device, &Route::device);
}

// The worked cases of CHTC's workshop. 18 million PDFs, 5 s on a GPU or 5 min on a core, 1 MB in,
// 4 MB out, campus only: 25,000 GPU hours or 1.5 million core hours, 18 TB in, 72 TB out.
TEST(Advice, eighteen_million_small_tasks_fit_but_must_stay_on_campus) {
  const Advice advice = advise({.tasks = 18'000'000,
                                .gpu_s = 5,
                                .cpu_s = 300,
                                .input = {1'000'000},
                                .output = {4'000'000},
                                .shared = {8'000'000'000},
                                .data_may_leave = false},
                               kPool);
  EXPECT_EQ(advice.fit, Fit::HereOnly);
  EXPECT_DOUBLE_EQ(route(advice, "gpu").compute_s / 3600, 25'000);
  EXPECT_DOUBLE_EQ(route(advice, "cpu").compute_s / 3600, 1'500'000);
  EXPECT_EQ(advice.total_input.value, 18'000'000'000'000U);
  EXPECT_EQ(advice.total_output.value, 72'000'000'000'000U);
  EXPECT_EQ(route(advice, "gpu").tasks_per_job, 720) << "an hour of 5 s";
  EXPECT_EQ(route(advice, "gpu").jobs, 25'000);
  EXPECT_EQ(route(advice, "gpu").length, "short");
  EXPECT_EQ(route(advice, "gpu").at_once, 100) << "two thirds of 150";
  EXPECT_DOUBLE_EQ(route(advice, "gpu").wall_s / 3600, 250);
  // 1.5 million one-hour jobs on 2000 cores take 750 rounds: here the GPUs win.
  EXPECT_DOUBLE_EQ(route(advice, "cpu").wall_s / 3600, 750);
  EXPECT_EQ(advice.routes.front().device, "gpu");
  EXPECT_TRUE(says(advice, "osdf://")) << "the model is 8 GB";
}

TEST(Advice, many_cores_can_beat_few_gpus) {
  const Advice advice =
      advise({.tasks = 1'000'000, .gpu_s = 5, .cpu_s = 30}, {.gpus = 6, .cores = 2000});
  EXPECT_EQ(advice.routes.front().device, "cpu");
}

// Many models, days of GPU each, 10 GB of data.
TEST(Advice, days_of_training_fit_where_checkpoints_are_saved) {
  const Work work{.tasks = 40, .gpu_s = 3 * 86400.0, .shared = {10'000'000'000}};
  const Advice advice = advise(work, kPool);
  EXPECT_EQ(advice.fit, Fit::Good);
  EXPECT_EQ(route(advice, "gpu").length, "long");
  EXPECT_EQ(route(advice, "gpu").at_once, 4);

  Work lost = work;
  lost.is_resumable = false;
  EXPECT_EQ(advise(lost, kPool).fit, Fit::Poor);
}

// 2 TB, a model larger than one GPU, several machines at once.
TEST(Advice, one_training_over_several_machines_is_a_poor_fit) {
  const Advice advice = advise(
      {.tasks = 1, .gpu_s = 10 * 86400.0, .shared = {2'000'000'000'000}, .machines = 4}, kPool);
  EXPECT_EQ(advice.fit, Fit::Poor);
  EXPECT_TRUE(says(advice, "4 machines"));
  EXPECT_TRUE(says(advice, "sent to it"));
}

TEST(Advice, a_limit_below_the_estimate_is_said_before) {
  EXPECT_FALSE(limit_warning(3000, 3600, false));
  EXPECT_EQ(limit_warning(9000, 3600, true),
            "it will take about 2h30m, and job.time is 1h00m: it will save, stop and be started 3 "
            "times");
  EXPECT_EQ(limit_warning(9000, 3600, false),
            "it will take about 2h30m, and job.time is 1h00m: it would be ended before its end");
}

}  // namespace
}  // namespace kedge::launch
