#include "train/inputs.h"

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/types.h>

#include "train/internal/resident.h"

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

// 40 images of 6x5 pixels, each with a colour of its own.
class Colours : public data::Dataset {
 public:
  Colours() {
    info_.height = 6;
    info_.width = 5;
    info_.channels = 3;
  }

  const data::DatasetInfo& info() const override { return info_; }

  std::int64_t size() const override { return 40; }

  std::int64_t label(std::int64_t index) const override { return index % 7; }

  std::string name(std::int64_t index) const override { return std::to_string(index); }

  Result<void> read(std::int64_t index, data::Sample& sample) const override {
    sample.image = {.height = 6, .width = 5, .channels = 3, .pixels = {}};
    for (std::int64_t i = 0; i < 6 * 5 * 3; ++i) {
      sample.image.pixels.push_back(static_cast<std::uint8_t>(index * 6 + i));
    }
    sample.label = label(index);
    return {};
  }

  std::string digest() const override { return "colours"; }

 private:
  data::DatasetInfo info_;
};

TEST(Inputs, images_on_the_device_make_the_same_batches_as_streamed_ones) {
  const Colours colours;
  const auto pipeline =
      data::Pipeline::parse({"resize 9 8", "random_crop 7 2", "flip", "cutout 3"});
  const auto resident = make_resident(colours, *pipeline, at::kCPU);
  ASSERT_TRUE(resident) << resident.error().message;
  EXPECT_EQ(resident->shape, (data::ImageShape{.height = 9, .width = 8, .channels = 3}));
  data::LoaderOptions options{.batch_size = 16, .shuffle = true, .seed = 3};
  data::Loader streamed(colours, *pipeline, options);
  options.placed = resident->shape;
  data::Loader placed(colours, *pipeline, options);
  const Normalise normalise{.mean = {0.5, 0.4, 0.3}, .std = {0.2, 0.3, 0.4}};
  InputMaker make_streamed(normalise, {});
  InputMaker make_placed(normalise, {.resident = &*resident});
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    streamed.start_epoch(epoch);
    placed.start_epoch(epoch);
    for (;;) {
      const auto one = *streamed.next();
      const auto other = *placed.next();
      ASSERT_EQ(one == nullptr, other == nullptr);
      if (one == nullptr) {
        break;
      }
      const Inputs wanted = make_streamed(*one);
      const Inputs got = make_placed(*other);
      EXPECT_TRUE(at::equal(got.x, wanted.x));
      EXPECT_TRUE(at::equal(got.y, wanted.y));
      EXPECT_EQ(other->indices, one->indices);
      const std::vector<std::uint8_t> pixels = make_placed.pixels_of(*other, 1);
      EXPECT_EQ(std::memcmp(pixels.data(), one->samples.get() + pixels.size(), pixels.size()), 0);
    }
  }
}

}  // namespace
}  // namespace kedge::train
