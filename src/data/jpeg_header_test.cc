#include "data/jpeg_header.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/hash.h"

namespace kedge::data {
namespace {

std::string fixture(const std::string& name) {
  return *read_file(Path(KEDGE_FIXTURES) / "data" / name);
}

TEST(JpegHeader, says_what_pil_says_of_common_files) {
  const auto photo = read_common_jpeg(as_bytes(fixture("photo.jpg")));
  ASSERT_TRUE(photo);
  EXPECT_EQ(photo->height, 23);
  EXPECT_EQ(photo->width, 37);
  EXPECT_FALSE(photo->is_grey);
  EXPECT_EQ(photo->colour_rows, 2);
  EXPECT_EQ(photo->colour_columns, 2);
  const auto grey = read_common_jpeg(as_bytes(fixture("grey.jpg")));
  ASSERT_TRUE(grey);
  EXPECT_TRUE(grey->is_grey);
  EXPECT_EQ(grey->colour_columns, 1);
}

TEST(JpegHeader, knows_nothing_of_others) {
  EXPECT_FALSE(read_common_jpeg(as_bytes(fixture("cmyk.jpg"))));
  EXPECT_FALSE(read_common_jpeg(as_bytes(fixture("rgb.png"))));
  EXPECT_FALSE(read_common_jpeg({}));
  const std::string photo = fixture("photo.jpg");
  for (std::size_t length = 0; length < photo.size(); ++length) {
    EXPECT_FALSE(read_common_jpeg(as_bytes(photo.substr(0, length)))) << length;
  }
}

// Whatever is damaged, nothing beyond the file is read (sanitizers look), and sizes stay sane.
TEST(JpegHeader, survives_any_byte) {
  const std::string photo = fixture("photo.jpg");
  for (std::size_t at = 0; at < std::min<std::size_t>(photo.size(), 700); ++at) {
    for (const char byte : {'\x00', '\x01', '\xFF', '\xC2'}) {
      std::string damaged = photo;
      damaged[at] = byte;
      if (const auto header = read_common_jpeg(as_bytes(damaged))) {
        EXPECT_GT(header->height * header->width, 0);
      }
    }
  }
}

}  // namespace
}  // namespace kedge::data
