#include "train/inputs.h"

#include <cstring>
#include <numeric>

#include <gtest/gtest.h>
#include <torch/types.h>

namespace kedge::train {
namespace {

// Two images of 2x3 pixels with channels interleaved: byte k of the batch is 10 * k.
data::Batch two_images(std::int64_t channels) {
  data::Batch batch;
  batch.count = 2;
  batch.height = 2;
  batch.width = 3;
  batch.channels = channels;
  const auto size = static_cast<std::size_t>(2 * 2 * 3 * channels);
  batch.samples = data::allocate_plain(size);
  for (std::size_t i = 0; i < size; ++i) {
    batch.samples.get()[i] = static_cast<std::uint8_t>(10 * i % 256);
  }
  batch.labels = data::allocate_plain(2 * sizeof(std::int64_t));
  const std::int64_t labels[] = {4, 7};
  std::memcpy(batch.labels.get(), labels, sizeof labels);
  return batch;
}

class InputsOf : public testing::TestWithParam<bool> {};

TEST_P(InputsOf, pixels_are_scaled_and_normalised_per_channel) {
  InputMaker make({.mean = {0.5, 0.25}, .std = {0.5, 0.125}}, {.channels_last = GetParam()});
  const data::Batch batch = two_images(2);
  const Inputs inputs = make(batch);
  ASSERT_EQ(inputs.x.sizes(), at::IntArrayRef({2, 2, 2, 3}));
  // Image 1, channel 1, row 1, column 2 is byte ((1*2+1)*3+2)*2+1 = 23, and 230 mod 256 = 230.
  EXPECT_NEAR(inputs.x[1][1][1][2].item<double>(), (230 / 255.0 - 0.25) / 0.125, 1e-5);
  // Image 0, channel 0, row 1, column 0 is byte 6.
  EXPECT_NEAR(inputs.x[0][0][1][0].item<double>(), (60 / 255.0 - 0.5) / 0.5, 1e-6);
  EXPECT_EQ(inputs.x.scalar_type(), at::kFloat);
  EXPECT_TRUE(inputs.x.is_contiguous(GetParam() ? at::MemoryFormat::ChannelsLast
                                                : at::MemoryFormat::Contiguous));
  EXPECT_EQ(inputs.y[0].item<std::int64_t>(), 4);
  EXPECT_EQ(inputs.y[1].item<std::int64_t>(), 7);
}

INSTANTIATE_TEST_SUITE_P(both_layouts, InputsOf, testing::Bool());

TEST(Inputs, pure_bfloat16_is_rounded_after_normalising) {
  InputMaker make({.mean = {0.5}, .std = {0.25}}, {.type = at::kBFloat16});
  const Inputs inputs = make(two_images(1));
  EXPECT_EQ(inputs.x.scalar_type(), at::kBFloat16);
  EXPECT_NEAR(inputs.x[0][0][0][0].item<double>(), -2, 0);
}

TEST(Inputs, labels_outlive_the_batch) {
  InputMaker make({.mean = {0}, .std = {1}}, {});
  const Inputs inputs = make(two_images(1));
  EXPECT_EQ(inputs.y.sum().item<std::int64_t>(), 11);
}

TEST(Inputs, a_token_predicts_the_one_after_it) {
  data::Batch batch;
  batch.count = 2;
  batch.context = 3;
  batch.samples = data::allocate_plain(8 * sizeof(std::int32_t));
  std::int32_t tokens[8];
  std::iota(std::begin(tokens), std::end(tokens), 10);
  std::memcpy(batch.samples.get(), tokens, sizeof tokens);
  InputMaker make({}, {});
  const Inputs inputs = make(batch);
  EXPECT_TRUE(inputs.x.equal(torch::tensor({{10, 11, 12}, {14, 15, 16}}, torch::kInt64)));
  EXPECT_TRUE(inputs.y.equal(torch::tensor({{11, 12, 13}, {15, 16, 17}}, torch::kInt64)));
}

}  // namespace
}  // namespace kedge::train
