#include "train/internal/staging.h"

#include <cstring>

#include <gtest/gtest.h>
#include <torch/types.h>

namespace kedge::train {
namespace {

at::Tensor as_tensor(const checkpoint::TensorView& view) {
  at::Tensor tensor = at::empty(view.shape, at::kFloat);
  std::memcpy(tensor.data_ptr(), view.bytes.data(), view.bytes.size());
  return tensor;
}

// pytorch#144657: an asynchronous save that wrote values from after the call.
TEST(Staging, what_training_does_after_the_copy_is_not_seen) {
  at::Tensor weight = at::arange(6, at::kFloat).reshape({2, 3});
  Staging staging(at::kCPU);
  const auto parts = staging.copy({{"model", {{"weight", weight}}}});
  weight.zero_();
  EXPECT_TRUE(as_tensor(parts[0].tensors[0]).equal(at::arange(6, at::kFloat).reshape({2, 3})));
}

TEST(Staging, a_channels_last_weight_is_saved_in_its_logical_order) {
  const at::Tensor weight =
      at::arange(48, at::kFloat).reshape({2, 3, 4, 2}).contiguous(at::MemoryFormat::ChannelsLast);
  Staging staging(at::kCPU);
  const auto parts = staging.copy({{"model", {{"weight", weight}}}});
  EXPECT_TRUE(
      as_tensor(parts[0].tensors[0]).equal(at::arange(48, at::kFloat).reshape({2, 3, 4, 2})));
}

TEST(Staging, memory_is_kept_from_save_to_save) {
  const at::Tensor weight = at::ones({4, 4});
  Staging staging(at::kCPU);
  const std::vector<StateTensors> groups = {{"model", {{"weight", weight}}}};
  staging.reserve(groups);
  const auto* first = staging.copy(groups)[0].tensors[0].bytes.data();
  EXPECT_EQ(staging.copy(groups)[0].tensors[0].bytes.data(), first);
}

}  // namespace
}  // namespace kedge::train
