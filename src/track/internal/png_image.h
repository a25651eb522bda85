// 8-bit images as PNG files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"

namespace kedge::track {

struct Image {
  std::vector<std::uint8_t> pixels;  // height x width x channels
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;  // 1 grey, 2 grey + alpha, 3 RGB, 4 RGBA
};

bool is_valid(const Image& image);

Result<std::string> render_png(const Image& image);

}  // namespace kedge::track
