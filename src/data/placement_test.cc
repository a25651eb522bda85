#include "data/placement.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/loader.h"
#include "data/pipeline.h"

namespace kedge::data {
namespace {

Image noise(std::int64_t height, std::int64_t width, std::int64_t channels) {
  Image image{.height = height, .width = width, .channels = channels, .pixels = {}};
  Random random(7);
  for (std::int64_t i = 0; i < height * width * channels; ++i) {
    image.pixels.push_back(static_cast<std::uint8_t>(random.below(256)));
  }
  return image;
}

// What the pipeline makes of `image` by moving pixels, and by placing them.
void expect_placed_as_applied(const std::vector<std::string>& steps, const Image& image) {
  const auto pipeline = Pipeline::parse(steps);
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  ASSERT_TRUE(pipeline->can_place());
  Image fixed = image;
  pipeline->apply_fixed(fixed);
  for (std::uint64_t key = 0; key < 200; ++key) {
    Image applied = image;
    const Visit start{.random = Random(key),
                      .epoch = static_cast<std::int64_t>(key % 3),
                      .sample_key = mix64(key)};
    Visit visit = start;
    pipeline->apply(applied, visit);

    Placement placement{.height = static_cast<std::int32_t>(fixed.height),
                        .width = static_cast<std::int32_t>(fixed.width)};
    Visit again = start;
    pipeline->place(placement, again);
    ASSERT_EQ(placement.height, applied.height);
    ASSERT_EQ(placement.width, applied.width);
    std::vector<std::uint8_t> rendered(applied.pixels.size());
    const ImageShape shape{
        .height = fixed.height, .width = fixed.width, .channels = fixed.channels};
    render(placement, shape, fixed.pixels.data(), rendered.data());
    ASSERT_EQ(rendered, applied.pixels) << "key " << key;
    ASSERT_EQ(again.random.next(), visit.random.next()) << "both draw the same numbers";
  }
}

TEST(Placement, gives_the_pixels_that_the_transforms_give) {
  const Image image = noise(12, 10, 3);
  expect_placed_as_applied({}, image);
  expect_placed_as_applied({"flip"}, image);
  expect_placed_as_applied({"vflip", "flip"}, image);
  expect_placed_as_applied({"random_crop 8 3"}, image);
  expect_placed_as_applied({"random_crop 16"}, image);
  expect_placed_as_applied({"flip alternating", "random_crop 10 4 reflect"}, image);
  expect_placed_as_applied({"random_crop 12 3 reflect", "flip", "cutout 5"}, image);
  expect_placed_as_applied({"flip", "random_crop 10 4", "vflip"}, image);
  expect_placed_as_applied({"random_crop 10 4", "flip", "cutout 5"}, image);
  expect_placed_as_applied({"random_crop 9 2", "cutout 5", "flip", "vflip"}, image);
  expect_placed_as_applied({"flip", "center_crop 7"}, image);
  expect_placed_as_applied({"cutout 4"}, noise(9, 9, 1));
  expect_placed_as_applied({"jitter 0.4 0.4 0.4"}, image);
  expect_placed_as_applied({"random_crop 10 3", "jitter 0.9 0 2", "flip", "cutout 4"}, image);
  expect_placed_as_applied({"vflip", "jitter 0.5 0.5 0.5", "flip"}, noise(9, 9, 1));
}

TEST(Placement, steps_before_the_first_random_one_are_applied_once) {
  expect_placed_as_applied({"resize 20 24", "center_crop 18", "random_crop 16 2", "flip"},
                           noise(12, 10, 3));
}

TEST(Placement, what_only_moving_pixels_can_do_is_not_placed) {
  const auto can_place = [](const std::vector<std::string>& steps) {
    return Pipeline::parse(steps)->can_place();
  };
  EXPECT_TRUE(can_place({"random_crop 8 2", "jitter 0.1 0.1 0.1", "cutout 3"}));
  EXPECT_FALSE(can_place({"jitter 0.1 0.1 0.1", "random_crop 8 2"}));
  EXPECT_FALSE(can_place({"cutout 3", "jitter 0.1 0.1 0.1"}));
  EXPECT_FALSE(can_place({"jitter 0.1 0.1 0.1", "flip", "jitter 0.1 0.1 0.1"}));
  EXPECT_FALSE(can_place({"flip", "resize 8 8"}));
  EXPECT_FALSE(can_place({"random_crop 8 2", "random_crop 6 2"}));
  EXPECT_FALSE(can_place({"cutout 3", "random_crop 8 2"}));
  EXPECT_FALSE(can_place({"resized_crop 8"}));
  EXPECT_TRUE(can_place({"resize 8 8", "grey"}));
}

}  // namespace
}  // namespace kedge::data
