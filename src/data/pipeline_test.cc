#include "data/pipeline.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/decode.h"
#include "data/internal/jitter.h"

namespace kedge::data {
namespace {

Image load(const std::string& name) {
  return *read_image(Path(KEDGE_FIXTURES) / "data" / name);
}

Image apply(const std::vector<std::string>& steps, Image image, std::uint64_t key = 1) {
  const auto pipeline = Pipeline::parse(steps);
  EXPECT_TRUE(pipeline) << pipeline.error().message;
  Visit visit{.random = Random(key)};
  pipeline->apply(image, visit);
  return image;
}

void expect_same(const Image& got, const Image& expected) {
  EXPECT_EQ(got.height, expected.height);
  EXPECT_EQ(got.width, expected.width);
  EXPECT_EQ(got.pixels, expected.pixels);
}

// A grey image whose pixel at (y, x) is 10 y + x + 1: no pixel is black.
Image numbered(std::int64_t height, std::int64_t width) {
  Image image{.height = height, .width = width, .channels = 1, .pixels = {}};
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      image.pixels.push_back(static_cast<std::uint8_t>(10 * y + x + 1));
    }
  }
  return image;
}

TEST(Transforms, resize_gives_the_pixels_of_pil) {
  const Image rgb = load("rgb.png");
  expect_same(apply({"resize 7 11"}, rgb), load("resize_down.png"));
  expect_same(apply({"resize 50 61"}, rgb), load("resize_up.png"));
  expect_same(apply({"resize 40 12"}, rgb), load("resize_mixed.png"));
  expect_same(apply({"resize 16"}, rgb), load("resize_shorter.png"));
}

// The weights of each pixel sum to one, whatever the sizes; a sanitizer sees those out of place.
TEST(Transforms, resize_leaves_one_colour_as_it_is) {
  for (std::int64_t from = 1; from <= 40; ++from) {
    for (std::int64_t to = 1; to <= 40; ++to) {
      const std::int64_t channels = 1 + from % 3;
      Image plain{.height = from, .width = 41 - from, .channels = channels, .pixels = {}};
      plain.pixels.assign(static_cast<std::size_t>(from * (41 - from) * channels), 201);
      const Image seen =
          apply({"resize " + std::to_string(to) + " " + std::to_string(41 - to)}, std::move(plain));
      ASSERT_EQ(seen.pixels.size(), static_cast<std::size_t>(to * (41 - to) * channels));
      ASSERT_THAT(seen.pixels, testing::Each(201)) << from << " to " << to;
    }
  }
}

TEST(Transforms, center_crop_cuts_and_pads_as_torchvision_does) {
  const Image rgb = load("rgb.png");
  expect_same(apply({"center_crop 20"}, rgb), load("center_crop_20.png"));
  expect_same(apply({"center_crop 30"}, rgb), load("center_crop_30.png"));
}

TEST(Transforms, jitter_changes_colours_as_torchvision_does) {
  using Step = Colours::Step;
  const auto changed = [](Step step, float factor) {
    Colours colours{.order = 0, .brightness = factor, .contrast = factor, .saturation = factor};
    colours.add(step);
    Image image = load("rgb.png");
    change_colours(colours, image.channels, image.pixels);
    return image;
  };
  expect_same(changed(Step::Brightness, 1.4F), load("brightness.png"));
  expect_same(changed(Step::Contrast, 0.6F), load("contrast.png"));
  expect_same(changed(Step::Contrast, 1.7F), load("contrast_more.png"));
  expect_same(changed(Step::Saturation, 1.8F), load("saturation.png"));
  expect_same(changed(Step::Saturation, 0.3F), load("saturation_less.png"));
}

TEST(Transforms, jitter_of_nothing_changes_nothing_and_of_something_does) {
  const Image rgb = load("rgb.png");
  expect_same(apply({"jitter 0 0 0"}, rgb), rgb);
  EXPECT_NE(apply({"jitter 0.4 0.4 0.4"}, rgb).pixels, rgb.pixels);
}

TEST(Transforms, flip_mirrors_about_half_of_the_images) {
  const Image image = numbered(2, 3);
  const std::vector<std::uint8_t> mirrored = {3, 2, 1, 13, 12, 11};
  int flipped = 0;
  for (std::uint64_t key = 0; key < 1000; ++key) {
    const Image out = apply({"flip"}, image, key);
    ASSERT_TRUE(out.pixels == mirrored || out.pixels == image.pixels);
    flipped += out.pixels == mirrored ? 1 : 0;
  }
  EXPECT_NEAR(flipped, 500, 65);  // four standard deviations
}

TEST(Transforms, an_alternating_flip_shows_both_sides_in_two_epochs) {
  const auto pipeline = Pipeline::parse({"flip alternating"});
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  int mirrored_first = 0;
  for (std::uint64_t sample = 0; sample < 1000; ++sample) {
    std::vector<bool> is_mirrored;
    for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
      Image image = numbered(1, 2);
      Visit visit{.random = Random(7), .epoch = epoch, .sample_key = mix64(sample)};
      pipeline->apply(image, visit);
      is_mirrored.push_back(image.pixels == std::vector<std::uint8_t>{2, 1});
    }
    EXPECT_NE(is_mirrored[0], is_mirrored[1]);
    EXPECT_EQ(is_mirrored[0], is_mirrored[2]);
    EXPECT_EQ(is_mirrored[1], is_mirrored[3]);
    mirrored_first += is_mirrored[0] ? 1 : 0;
  }
  EXPECT_NEAR(mirrored_first, 500, 65);
}

TEST(Transforms, vflip_turns_about_half_of_the_images_upside_down) {
  const Image image = numbered(3, 2);
  const std::vector<std::uint8_t> turned = {21, 22, 11, 12, 1, 2};
  int flipped = 0;
  for (std::uint64_t key = 0; key < 1000; ++key) {
    const Image out = apply({"vflip"}, image, key);
    ASSERT_TRUE(out.pixels == turned || out.pixels == image.pixels);
    flipped += out.pixels == turned ? 1 : 0;
  }
  EXPECT_NEAR(flipped, 500, 65);
}

TEST(Transforms, random_crop_reaches_every_offset_equally_often) {
  const Image image = numbered(4, 4);
  // A 4x4 crop of an image padded by 1: nine offsets. The top left pixel tells a crop's offset
  // unless it is padding; pixel (1, 1) of the crop is always image content.
  std::map<int, int> seen;
  for (std::uint64_t key = 0; key < 9000; ++key) {
    const Image out = apply({"random_crop 4 1"}, image, key);
    ASSERT_EQ(out.pixels.size(), 16U);
    ++seen[out.pixels[5]];
  }
  ASSERT_EQ(seen.size(), 9U);
  for (const auto& [pixel, count] : seen) {
    EXPECT_NEAR(count, 1000, 130) << pixel;
  }
}

TEST(Transforms, random_crop_pads_with_black) {
  for (std::uint64_t key = 0; key < 50; ++key) {
    const Image out = apply({"random_crop 6 2"}, numbered(2, 2), key);
    ASSERT_EQ(out.pixels.size(), 36U);
    EXPECT_EQ(std::ranges::count(out.pixels, 0), 32);
  }
}

TEST(Transforms, random_crop_reflects_as_numpy_does) {
  // numpy.pad([1, 2, 3], 2, mode="reflect") is [3, 2, 1, 2, 3, 2, 1].
  const std::vector<std::uint8_t> padded = {3, 2, 1, 2, 3, 2, 1};
  std::map<std::vector<std::uint8_t>, int> seen;
  for (std::uint64_t key = 0; key < 500; ++key) {
    Image out = apply({"random_crop 3 2 reflect"}, numbered(3, 3), key);
    std::vector<std::uint8_t> row(out.pixels.begin(), out.pixels.begin() + 3);
    std::ranges::transform(row, row.begin(), [](int pixel) { return pixel % 10; });
    ASSERT_FALSE(std::ranges::search(padded, row).empty()) << ::testing::PrintToString(row);
    ++seen[row];
  }
  EXPECT_EQ(seen.size(), 4U) << "the first offset and the last look alike";
}

TEST(Transforms, resized_crop_gives_the_asked_size_from_inside_the_image) {
  Image white{.height = 30, .width = 50, .channels = 3, .pixels = {}};
  white.pixels.assign(30 * 50 * 3, 200);
  for (std::uint64_t key = 0; key < 200; ++key) {
    const Image out = apply({"resized_crop 12 0.3"}, white, key);
    ASSERT_EQ(out.height, 12);
    ASSERT_EQ(out.width, 12);
    ASSERT_TRUE(std::ranges::all_of(out.pixels, [](std::uint8_t p) { return p == 200; }));
  }
}

TEST(Transforms, cutout_paints_a_square_with_the_mean) {
  Image image{.height = 10, .width = 10, .channels = 1, .pixels = {}};
  for (int i = 0; i < 100; ++i) {
    image.pixels.push_back(i % 2 == 0 ? 10 : 30);
  }
  std::int64_t largest = 0;
  for (std::uint64_t key = 0; key < 100; ++key) {
    const Image out = apply({"cutout 4"}, image, key);
    const std::int64_t painted = std::ranges::count(out.pixels, 20);
    EXPECT_GE(painted, 4);  // in a corner a quarter of it is left
    largest = std::max(largest, painted);
  }
  EXPECT_EQ(largest, 16);
}

TEST(Pipeline, takes_its_randomness_from_the_key_alone) {
  const Image rgb = load("rgb.png");
  const std::vector<std::string> steps = {"resized_crop 16", "flip", "jitter 0.4 0.4 0.4",
                                          "cutout 4"};
  expect_same(apply(steps, rgb, 7), apply(steps, rgb, 7));
  EXPECT_NE(apply(steps, rgb, 7).pixels, apply(steps, rgb, 8).pixels);
}

TEST(Pipeline, keeps_its_steps_and_knows_whether_it_is_random) {
  const auto fixed = Pipeline::parse({"resize 32", "center_crop 28"});
  ASSERT_TRUE(fixed);
  EXPECT_FALSE(fixed->is_random());
  EXPECT_THAT(fixed->steps(), testing::ElementsAre("resize 32", "center_crop 28"));
  EXPECT_TRUE(Pipeline::parse({"resize 32", "flip"})->is_random());
}

TEST(Pipeline, shows_the_right_form_for_wrong_arguments) {
  for (const std::string step : {"random_crop", "random_crop x", "random_crop 32 4 1",
                                 "random_crop 0", "random_crop 3.5", "random_crop -3"}) {
    const auto result = Pipeline::parse({step});
    ASSERT_FALSE(result) << step;
    EXPECT_EQ(result.error().kind, ErrorKind::Usage);
    EXPECT_THAT(result.error().hint, testing::HasSubstr("random_crop SIZE [PADDING]")) << step;
  }
  for (const std::string step :
       {"flip 1", "vflip 1", "resize", "resize 1 2 3", "center_crop", "cutout 0", "jitter 1",
        "resized_crop 8 1.5", "resized_crop 8 0", "resized_crop 2.5"}) {
    EXPECT_FALSE(Pipeline::parse({step})) << step;
  }
}

TEST(Pipeline, names_the_nearest_transform) {
  const auto result = Pipeline::parse({"random_corp 32"});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, testing::HasSubstr("did you mean 'random_crop'"));
}

}  // namespace
}  // namespace kedge::data
