#include "train/inputs.h"

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/types.h>

#include "train/internal/resident.h"
#include "train/preparation.h"

namespace kedge::train {
namespace {

template <typename T>
data::Field field_of(const data::FieldInfo& info, const std::vector<T>& values) {
  data::Field field{info, data::allocate_plain(values.size() * sizeof(T))};
  std::memcpy(field.buffer.get(), values.data(), values.size() * sizeof(T));
  return field;
}

// Two images of 2x3 pixels with channels interleaved: byte k of the batch is 10 * k.
data::Batch two_images(std::int64_t channels) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(2 * 2 * 3 * channels));
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<std::uint8_t>(10 * i % 256);
  }
  const auto infos = data::image_fields({.height = 2, .width = 3, .channels = channels});
  return {.count = 2,
          .fields = {field_of(infos[0], pixels), field_of<std::int64_t>(infos[1], {4, 7})}};
}

Preparation for_task(const std::string& name, const Normalise& normalise = {}) {
  Preparation preparation;
  preparation.task = Tasks::make("task", name).value();
  preparation.normalise = normalise;
  return preparation;
}

Preparation for_images(const Normalise& normalise) {
  return for_task("classification", normalise);
}

class InputsOf : public testing::TestWithParam<bool> {};

TEST_P(InputsOf, pixels_are_scaled_and_normalised_per_channel) {
  InputMaker make(for_images({.mean = {0.5, 0.25}, .std = {0.5, 0.125}}),
                  {.channels_last = GetParam()});
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
  InputMaker make(for_images({.mean = {0.5}, .std = {0.25}}), {.type = at::kBFloat16});
  const Inputs inputs = make(two_images(1));
  EXPECT_EQ(inputs.x.scalar_type(), at::kBFloat16);
  EXPECT_NEAR(inputs.x[0][0][0][0].item<double>(), -2, 0);
}

TEST(Inputs, labels_outlive_the_batch) {
  InputMaker make(for_images({.mean = {0}, .std = {1}}), {});
  const Inputs inputs = make(two_images(1));
  EXPECT_EQ(inputs.y.sum().item<std::int64_t>(), 11);
}

TEST(Inputs, a_token_predicts_the_one_after_it) {
  std::vector<std::int32_t> tokens(8);
  std::iota(tokens.begin(), tokens.end(), 10);
  const data::Batch batch{.count = 2, .fields = {field_of(data::token_fields(3).front(), tokens)}};
  EXPECT_EQ(for_task("language_modelling").task->count_items(batch), 6);
  EXPECT_EQ(loss_weight(batch), 2) << "without a mask, samples";
  InputMaker make(for_task("language_modelling"), {});
  const Inputs inputs = make(batch);
  EXPECT_TRUE(inputs.x.equal(torch::tensor({{10, 11, 12}, {14, 15, 16}}, torch::kInt64)));
  EXPECT_TRUE(inputs.y.equal(torch::tensor({{11, 12, 13}, {15, 16, 17}}, torch::kInt64)));
}

TEST(Inputs, targets_that_the_mask_leaves_out_are_ignored_and_not_counted) {
  std::vector<std::int32_t> ids(8);
  std::iota(ids.begin(), ids.end(), 10);
  const data::FieldInfo mask{.name = std::string(data::kLossMask), .shape = {3}};
  const data::Batch batch{.count = 2,
                          .fields = {field_of(data::token_fields(3).front(), ids),
                                     field_of<std::uint8_t>(mask, {0, 1, 1, 0, 0, 1})}};
  EXPECT_EQ(loss_weight(batch), 3);
  InputMaker make(for_task("language_modelling"), {});
  const Inputs inputs = make(batch);
  EXPECT_TRUE(inputs.y.equal(torch::tensor({{-100, 12, 13}, {-100, -100, 17}}, torch::kInt64)));
  EXPECT_EQ(inputs.counted.item<double>(), 3);
}

TEST(Inputs, any_field_of_a_batch_is_staged_under_its_name) {
  const std::vector<float> weights = {0, 0.5, 1, 0.25};
  data::Batch batch = two_images(1);
  batch.fields.push_back(
      field_of({.name = "weight", .type = data::FieldType::F32, .shape = {2}}, weights));
  InputMaker make(for_images({.mean = {0}, .std = {1}}), {});
  make.stage(batch);
  EXPECT_TRUE(make.staged("weight").equal(torch::tensor({{0.0F, 0.5F}, {1.0F, 0.25F}})));
  EXPECT_EQ(make.staged(data::kImage).sizes(), at::IntArrayRef({2, 2, 3, 1}));
  EXPECT_FALSE(make.staged("mask").defined());
  EXPECT_EQ(loss_weight(batch), 2);
}

TEST(Inputs, images_may_have_no_labels) {
  data::Batch batch = two_images(1);
  batch.fields.pop_back();
  InputMaker make(for_images({.mean = {0}, .std = {1}}), {});
  const Inputs inputs = make(batch);
  EXPECT_EQ(inputs.x.size(0), 2);
  EXPECT_FALSE(inputs.y.defined());
}

// 40 images of 6x5 pixels, each with a colour of its own.
class Colours : public data::Dataset {
 public:
  Colours() { info_.fields = data::image_fields({.height = 6, .width = 5, .channels = 3}); }

  const data::DatasetInfo& info() const override { return info_; }

  std::int64_t size() const override { return 40; }

  std::int64_t label(std::int64_t index) const override { return index % 7; }

  std::string name(std::int64_t index) const override { return std::to_string(index); }

  Result<void> read(std::int64_t index, data::Sample& sample) const override {
    sample.image = {.height = 6, .width = 5, .channels = 3, .pixels = {}};
    for (std::int64_t i = 0; i < 6 * 5 * 3; ++i) {
      sample.image.pixels.push_back(static_cast<std::uint8_t>(index * 6 + i));
    }
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
  InputMaker make_streamed(for_images(normalise), {});
  InputMaker make_placed(for_images(normalise), {.resident = &*resident});
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
      const data::Image image = make_placed.image_of(*other, 1);
      EXPECT_EQ(image.height, 7);
      EXPECT_EQ(image.pixels, make_streamed.image_of(*one, 1).pixels);
    }
  }
}

}  // namespace
}  // namespace kedge::train
