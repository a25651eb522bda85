// Images of one size with their labels, as the source files give them.
#pragma once

#include <cstdint>
#include <vector>

namespace kedge::data {

struct ImageBlock {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::vector<std::uint8_t> pixels;  // HWC, one image after the other
  std::vector<std::uint8_t> labels;
};

struct ImageParts {
  ImageBlock train;
  ImageBlock test;
};

}  // namespace kedge::data
