#include "data/internal/jitter.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace kedge::data {
namespace {

// PIL's blend: single precision, cut off and not rounded.
std::uint8_t blend(std::uint8_t from, std::uint8_t to, float factor) {
  const float value =
      static_cast<float>(from) + factor * static_cast<float>(static_cast<int>(to) - from);
  return static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F));
}

// PIL's luma, ITU-R 601 in 16-bit fixed point.
std::uint8_t luma(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U + 0x8000U) >>
                                   16U);
}

bool is_rgb(std::int64_t channels) {
  return channels == 3;
}

void blend_from(std::span<std::uint8_t> pixels, std::uint8_t from, float factor) {
  for (std::uint8_t& pixel : pixels) {
    pixel = blend(from, pixel, factor);
  }
}

// The grey that contrast is measured from.
std::uint8_t mean_of(std::span<const std::uint8_t> pixels, std::int64_t channels) {
  std::uint64_t sum = 0;
  const std::size_t step = is_rgb(channels) ? 3 : 1;
  for (std::size_t i = 0; i < pixels.size(); i += step) {
    sum += is_rgb(channels) ? luma(&pixels[i]) : pixels[i];
  }
  const std::size_t count = pixels.size() / step;
  const double mean = count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
  return static_cast<std::uint8_t>(mean + 0.5);
}

void change_saturation(std::span<std::uint8_t> pixels, std::int64_t channels, float factor) {
  if (!is_rgb(channels)) {
    return;
  }
  for (std::size_t i = 0; i < pixels.size(); i += 3) {
    const std::uint8_t grey = luma(&pixels[i]);
    for (std::size_t c = 0; c < 3; ++c) {
      pixels[i + c] = blend(grey, pixels[i + c], factor);
    }
  }
}

}  // namespace

void change_colours(const Colours& colours, std::int64_t channels, std::span<std::uint8_t> pixels) {
  for (int i = 0; i < Colours::kSteps; ++i) {
    switch (colours.step(i)) {
      case Colours::Step::None:
        return;
      case Colours::Step::Brightness:
        blend_from(pixels, 0, colours.brightness);
        break;
      case Colours::Step::Contrast:
        blend_from(pixels, mean_of(pixels, channels), colours.contrast);
        break;
      case Colours::Step::Saturation:
        change_saturation(pixels, channels, colours.saturation);
        break;
    }
  }
}

}  // namespace kedge::data
