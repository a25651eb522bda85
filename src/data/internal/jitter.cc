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

bool is_rgb(const Image& image) {
  return image.channels == 3;
}

void blend_from(Image& image, std::uint8_t from, double factor) {
  for (std::uint8_t& pixel : image.pixels) {
    pixel = blend(from, pixel, static_cast<float>(factor));
  }
}

}  // namespace

void change_brightness(Image& image, double factor) {
  blend_from(image, 0, factor);
}

void change_contrast(Image& image, double factor) {
  std::uint64_t sum = 0;
  const std::size_t step = is_rgb(image) ? 3 : 1;
  for (std::size_t i = 0; i < image.pixels.size(); i += step) {
    sum += is_rgb(image) ? luma(&image.pixels[i]) : image.pixels[i];
  }
  const std::size_t count = image.pixels.size() / step;
  const double mean = count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
  blend_from(image, static_cast<std::uint8_t>(mean + 0.5), factor);
}

void change_saturation(Image& image, double factor) {
  if (!is_rgb(image)) {
    return;
  }
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    const std::uint8_t grey = luma(&image.pixels[i]);
    for (std::size_t c = 0; c < 3; ++c) {
      image.pixels[i + c] = blend(grey, image.pixels[i + c], static_cast<float>(factor));
    }
  }
}

}  // namespace kedge::data
