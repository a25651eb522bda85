#include "data/placement.h"

#include <algorithm>
#include <cstddef>

#include "data/internal/jitter.h"

namespace kedge::data {

void Colours::add(Step last) {
  unsigned at = 0;
  while (step(static_cast<int>(at)) != Step::None) {
    ++at;
  }
  order |= static_cast<std::int32_t>(static_cast<unsigned>(last) << (2 * at));
}

void Placement::crop(std::int32_t crop_top, std::int32_t crop_left, std::int32_t new_height,
                     std::int32_t new_width) {
  top += crop_top * step_y;
  left += crop_left * step_x;
  height = new_height;
  width = new_width;
}

void Placement::mirror_x() {
  left += (width - 1) * step_x;
  step_x = -step_x;
  const std::int32_t cut_width = cut_right - cut_left;
  cut_left = cut_width > 0 ? width - cut_right : 0;
  cut_right = cut_left + cut_width;
}

void Placement::mirror_y() {
  top += (height - 1) * step_y;
  step_y = -step_y;
  const std::int32_t cut_height = cut_bottom - cut_top;
  cut_top = cut_height > 0 ? height - cut_bottom : 0;
  cut_bottom = cut_top + cut_height;
}

void paint_cut(const Placement& placement, std::int64_t channels, std::uint8_t* pixels) {
  if (placement.cut_top >= placement.cut_bottom || placement.cut_left >= placement.cut_right) {
    return;
  }
  const std::int64_t count = std::int64_t{placement.height} * placement.width;
  for (std::int64_t c = 0; c < channels; ++c) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      sum += pixels[i * channels + c];
    }
    const auto mean = static_cast<std::uint8_t>((sum + count / 2) / count);
    for (std::int64_t y = placement.cut_top; y < placement.cut_bottom; ++y) {
      for (std::int64_t x = placement.cut_left; x < placement.cut_right; ++x) {
        pixels[(y * placement.width + x) * channels + c] = mean;
      }
    }
  }
}

void render(const Placement& placement, const ImageShape& shape, const std::uint8_t* source,
            std::uint8_t* out) {
  const std::int64_t channels = shape.channels;
  const bool reflects = placement.reflect != 0;
  for (std::int32_t y = 0; y < placement.height; ++y) {
    const std::int64_t line = placement.top + y * placement.step_y;
    const std::int64_t from_y = reflects ? reflected(line, shape.height) : line;
    for (std::int32_t x = 0; x < placement.width; ++x) {
      const std::int64_t column = placement.left + x * placement.step_x;
      const std::int64_t from_x = reflects ? reflected(column, shape.width) : column;
      std::uint8_t* pixel = out + (static_cast<std::int64_t>(y) * placement.width + x) * channels;
      if (from_y < 0 || from_y >= shape.height || from_x < 0 || from_x >= shape.width) {
        std::fill_n(pixel, channels, std::uint8_t{0});
      } else {
        std::copy_n(source + (from_y * shape.width + from_x) * channels, channels, pixel);
      }
    }
  }
  const std::int64_t count = std::int64_t{placement.height} * placement.width * channels;
  change_colours(placement.colours, channels, {out, static_cast<std::size_t>(count)});
  paint_cut(placement, channels, out);
}

}  // namespace kedge::data
