// An image in memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kedge::data {

// 8-bit pixels, row by row, channels interleaved.
struct Image {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::vector<std::uint8_t> pixels;
};

struct ImageShape {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;

  bool operator==(const ImageShape&) const = default;
};

// Somebody who gives a JPEG's pixels faster than libjpeg, and the same: a GPU.
class JpegHelper {
 public:
  virtual ~JpegHelper() = default;

  // From any thread, many at once. False leaves the file to libjpeg; `image` may have been resized,
  // no more.
  virtual bool decode(std::span<const std::uint8_t> bytes, Image& image) = 0;
};

}  // namespace kedge::data
