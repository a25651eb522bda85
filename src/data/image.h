// An image in memory.
#pragma once

#include <cstdint>
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

}  // namespace kedge::data
