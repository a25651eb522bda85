#include "data/decode.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/hash.h"

namespace kedge::data {
namespace {

Path fixture(const std::string& name) {
  return Path(KEDGE_FIXTURES) / "data" / name;
}

Image load(const std::string& name) {
  auto image = read_image(fixture(name));
  EXPECT_TRUE(image) << name;
  return image ? std::move(*image) : Image{};
}

void expect_same(const Image& got, const Image& expected) {
  EXPECT_EQ(got.height, expected.height);
  EXPECT_EQ(got.width, expected.width);
  EXPECT_EQ(got.channels, 3);
  EXPECT_EQ(got.pixels, expected.pixels);
}

TEST(Decode, gives_the_pixels_that_pil_gives) {
  const Image rgb = load("rgb.png");
  EXPECT_EQ(rgb.height, 23);
  EXPECT_EQ(rgb.width, 37);
  expect_same(load("grey.png"), load("grey_decoded.png"));
  expect_same(load("rgba.png"), rgb);
  expect_same(load("palette.png"), load("palette_decoded.png"));
}

// Two versions of libjpeg-turbo may differ by one grey level.
TEST(Decode, gives_the_jpeg_pixels_that_pil_gives_within_a_level) {
  for (const std::string name : {"photo", "grey", "cmyk"}) {
    const Image got = load(name + ".jpg");
    const Image expected = load(name == "cmyk" ? "cmyk_decoded.png" : name + "_jpg_decoded.png");
    ASSERT_EQ(got.pixels.size(), expected.pixels.size());
    for (std::size_t i = 0; i < got.pixels.size(); ++i) {
      ASSERT_NEAR(got.pixels[i], expected.pixels[i], 1) << name << " at " << i;
    }
  }
}

TEST(Decode, names_a_truncated_file_at_every_length) {
  for (const std::string name : {"rgb.png", "photo.jpg"}) {
    const std::string whole = *read_file(fixture(name));
    for (std::size_t length = 0; length + 2 < whole.size(); length += 7) {
      Image image;
      const auto result = decode_image(as_bytes(whole.substr(0, length)), name, image);
      ASSERT_FALSE(result) << name << " cut to " << length << " of " << whole.size();
      EXPECT_EQ(result.error().kind, ErrorKind::Corrupt);
      EXPECT_THAT(result.error().message, testing::HasSubstr(name));
    }
  }
}

TEST(Decode, refuses_a_flipped_byte_in_png_data) {
  std::string bytes = *read_file(fixture("rgb.png"));
  bytes[bytes.size() / 2] = static_cast<char>(~bytes[bytes.size() / 2]);
  Image image;
  const auto result = decode_image(as_bytes(bytes), "x.png", image);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::Corrupt);
}

class CountingHelper : public JpegHelper {
 public:
  bool decode(std::span<const std::uint8_t> /*bytes*/, Image& image) override {
    ++asked;
    image = {.height = 1, .width = 1, .channels = 3, .pixels = {1, 2, 3}};
    return !is_tired;
  }

  int asked = 0;
  bool is_tired = false;
};

TEST(Decode, asks_a_helper_only_for_what_libjpeg_has_decoded) {
  const Image plain = load("photo.jpg");
  const std::string bytes = *read_file(fixture("photo.jpg"));
  const std::string half = bytes.substr(0, bytes.size() / 2) + "\xFF\xD9";
  CountingHelper helper;
  Known known = 0;
  const auto decode = [&](const std::string& file) {
    Sample sample{.jpeg = &helper};
    return decode_again(as_bytes(file), "x.jpg", known, sample) ? sample.image : Image{};
  };
  expect_same(decode(bytes), plain);
  EXPECT_EQ(helper.asked, 0);
  EXPECT_EQ(decode(bytes).height, 1);
  helper.is_tired = true;
  expect_same(decode(bytes), plain);
  EXPECT_EQ(helper.asked, 2);
  EXPECT_EQ(decode(half).height, 0) << "the file changed, and is damaged now";
  EXPECT_EQ(decode(half).height, 0);
  EXPECT_EQ(helper.asked, 2);
}

TEST(Decode, refuses_what_is_no_image) {
  Image image;
  EXPECT_FALSE(decode_image(as_bytes("hello"), "x.png", image));
  EXPECT_FALSE(decode_image({}, "empty.jpg", image));
}

}  // namespace
}  // namespace kedge::data
