#include "parallel/replicated/data_parallel.h"

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "dist/rank_threads.h"

namespace kedge::parallel {
namespace {

// The ranks of these tests are threads; c10d's flight recorder belongs to a process and takes no
// care of several.
const bool kHasNoRecorder = ::setenv("TORCH_FR_BUFFER_SIZE", "0", 1) == 0 &&
                            ::setenv("TORCH_NCCL_TRACE_BUFFER_SIZE", "0", 1) == 0;

// Two layers by hand: a is used by all, b only where asked, c by nobody.
struct Toy {
  at::Tensor a = torch::full({3}, 2.0, torch::TensorOptions(torch::kFloat64).requires_grad(true));
  at::Tensor b = torch::full({2}, 5.0, torch::TensorOptions(torch::kFloat64).requires_grad(true));
  at::Tensor c = torch::ones({4}, torch::TensorOptions(torch::kFloat64).requires_grad(true));

  nn::NamedTensors parameters() const { return {{"a", a}, {"b", b}, {"c", c}}; }
};

// d/da of x * sum(a) is x.
at::Tensor loss_of(const Toy& toy, double x, bool uses_b) {
  at::Tensor loss = toy.a.sum() * x;
  return uses_b ? loss + toy.b.sum() * x : loss;
}

TEST(DataParallel, gradients_become_the_sum_over_the_ranks) {
  dist::run_ranks(3, [](dist::ProcessGroup& group) {
    Toy toy;
    DataParallel parallel(group, toy.parameters(), {});
    for (int step = 0; step < 2; ++step) {
      parallel.start();
      loss_of(toy, static_cast<double>(group.rank() + 1), true).backward();
      parallel.finish();
      EXPECT_TRUE(toy.a.grad().equal(torch::full({3}, 6.0, torch::kFloat64)));
      EXPECT_TRUE(toy.b.grad().equal(torch::full({2}, 6.0, torch::kFloat64)));
      EXPECT_FALSE(toy.c.grad().defined());
      toy.a.mutable_grad().reset();
      toy.b.mutable_grad().reset();
    }
  });
}

TEST(DataParallel, a_parameter_that_one_rank_did_not_use_gets_the_others_gradient) {
  dist::run_ranks(2, [](dist::ProcessGroup& group) {
    Toy toy;
    DataParallel parallel(group, toy.parameters(), {});
    parallel.start();
    loss_of(toy, 4, group.is_first()).backward();
    parallel.finish();
    EXPECT_TRUE(toy.b.grad().equal(torch::full({2}, 4.0, torch::kFloat64)));
    EXPECT_TRUE(toy.a.grad().equal(torch::full({3}, 8.0, torch::kFloat64)));
  });
}

TEST(DataParallel, a_rank_without_a_sample_takes_part) {
  dist::run_ranks(2, [](dist::ProcessGroup& group) {
    Toy toy;
    DataParallel parallel(group, toy.parameters(), {.bucket_bytes = 8, .first_bucket_bytes = 8});
    EXPECT_EQ(parallel.bucket_count(), 3U);
    if (group.is_first()) {
      parallel.start();
      loss_of(toy, 7, true).backward();
    }
    parallel.finish();
    EXPECT_TRUE(toy.a.grad().equal(torch::full({3}, 7.0, torch::kFloat64)));
  });
}

TEST(DataParallel, accumulated_gradients_travel_once) {
  dist::run_ranks(2, [](dist::ProcessGroup& group) {
    Toy toy;
    DataParallel parallel(group, toy.parameters(), {});
    loss_of(toy, 1, true).backward();  // not started: nothing travels
    EXPECT_TRUE(toy.a.grad().equal(torch::full({3}, 1.0, torch::kFloat64)));
    parallel.start();
    loss_of(toy, 10, true).backward();
    parallel.finish();
    EXPECT_TRUE(toy.a.grad().equal(torch::full({3}, 22.0, torch::kFloat64)));
  });
}

TEST(DataParallel, bf16_rounds_only_what_travels) {
  dist::run_ranks(2, [](dist::ProcessGroup& group) {
    Toy toy;
    DataParallel parallel(group, toy.parameters(), {.is_bf16 = true});
    parallel.start();
    loss_of(toy, 1.0 + 1.0 / 512, true).backward();  // bfloat16 has 8 bits: 1 + 1/512 is 1 there
    parallel.finish();
    EXPECT_EQ(toy.a.grad().scalar_type(), at::kDouble);
    EXPECT_TRUE(toy.a.grad().equal(torch::full({3}, 2.0, torch::kFloat64)));
  });
}

TEST(DataParallel, keeps_the_layout_of_channels_last_weights) {
  dist::run_ranks(2, [](dist::ProcessGroup& group) {
    const at::Tensor weight = torch::arange(24, torch::kFloat64)
                                  .view({2, 3, 2, 2})
                                  .contiguous(at::MemoryFormat::ChannelsLast)
                                  .requires_grad_(true);
    DataParallel parallel(group, {{"weight", weight}}, {});
    parallel.start();
    (weight.square().sum() / 2).backward();  // its gradient is the weight itself
    parallel.finish();
    EXPECT_TRUE(weight.grad().equal(weight.detach() * 2));
    EXPECT_EQ(weight.grad().strides(), weight.strides());
  });
}

}  // namespace
}  // namespace kedge::parallel
