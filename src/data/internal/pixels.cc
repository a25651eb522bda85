#include "data/internal/pixels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

namespace kedge::data {
namespace {

// PIL's: 8 bits of pixel, 2 bits of headroom for the sum.
constexpr int kFractionBits = 32 - 8 - 2;

// The weights of the input pixels that make one output pixel.
struct Taps {
  std::int64_t first = 0;
  std::vector<std::int32_t> weights;
};

std::vector<Taps> make_taps(std::int64_t in_size, std::int64_t out_size) {
  const double scale = static_cast<double>(in_size) / static_cast<double>(out_size);
  // When shrinking the triangle grows, so that every input pixel counts.
  const double support = std::max(scale, 1.0);
  std::vector<Taps> all(static_cast<std::size_t>(out_size));
  std::vector<double> exact;
  for (std::int64_t out = 0; out < out_size; ++out) {
    const double center = (static_cast<double>(out) + 0.5) * scale;
    const auto first = std::max<std::int64_t>(0, static_cast<std::int64_t>(center - support + 0.5));
    const auto last = std::min(in_size, static_cast<std::int64_t>(center + support + 0.5));
    exact.clear();
    double sum = 0;
    for (std::int64_t x = first; x < last; ++x) {
      const double distance = std::abs((static_cast<double>(x) - center + 0.5) / support);
      exact.push_back(std::max(0.0, 1.0 - distance));
      sum += exact.back();
    }
    Taps& taps = all[static_cast<std::size_t>(out)];
    taps.first = first;
    for (const double weight : exact) {
      taps.weights.push_back(static_cast<std::int32_t>(0.5 + weight / sum * (1 << kFractionBits)));
    }
  }
  return all;
}

std::uint8_t to_pixel(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

constexpr std::int32_t kHalf = 1 << (kFractionBits - 1);

void resize_rows(const Image& in, Image& out) {
  const std::vector<Taps> all = make_taps(in.width, out.width);
  const auto channels = static_cast<std::size_t>(in.channels);
  for (std::int64_t y = 0; y < in.height; ++y) {
    const std::uint8_t* row = in.pixels.data() + y * in.width * in.channels;
    std::uint8_t* to = out.pixels.data() + y * out.width * in.channels;
    for (const Taps& taps : all) {
      const std::uint8_t* from = row + taps.first * in.channels;
      for (std::size_t c = 0; c < channels; ++c) {
        std::int32_t sum = kHalf;
        for (std::size_t k = 0; k < taps.weights.size(); ++k) {
          sum += from[k * channels + c] * taps.weights[k];
        }
        *to++ = to_pixel(sum);
      }
    }
  }
}

void resize_columns(const Image& in, Image& out) {
  const std::vector<Taps> all = make_taps(in.height, out.height);
  const auto row_bytes = static_cast<std::size_t>(in.width * in.channels);
  std::vector<std::int32_t> sums(row_bytes);
  std::uint8_t* to = out.pixels.data();
  for (const Taps& taps : all) {
    std::ranges::fill(sums, kHalf);
    const std::uint8_t* from = in.pixels.data() + static_cast<std::size_t>(taps.first) * row_bytes;
    for (const std::int32_t weight : taps.weights) {
      for (std::size_t i = 0; i < row_bytes; ++i) {
        sums[i] += from[i] * weight;
      }
      from += row_bytes;
    }
    for (const std::int32_t sum : sums) {
      *to++ = to_pixel(sum);
    }
  }
}

Image blank(std::int64_t height, std::int64_t width, std::int64_t channels) {
  Image image{.height = height, .width = width, .channels = channels, .pixels = {}};
  image.pixels.resize(static_cast<std::size_t>(height * width * channels));
  return image;
}

}  // namespace

void crop(Image& image, const Rect& rect) {
  Image out = blank(rect.height, rect.width, image.channels);
  const std::int64_t left = std::max<std::int64_t>(0, rect.left);
  const std::int64_t right = std::min(image.width, rect.left + rect.width);
  const std::int64_t top = std::max<std::int64_t>(0, rect.top);
  const std::int64_t bottom = std::min(image.height, rect.top + rect.height);
  for (std::int64_t y = top; y < bottom && left < right; ++y) {
    std::memcpy(
        out.pixels.data() + ((y - rect.top) * rect.width + left - rect.left) * image.channels,
        image.pixels.data() + (y * image.width + left) * image.channels,
        static_cast<std::size_t>((right - left) * image.channels));
  }
  image = std::move(out);
}

void resize(Image& image, std::int64_t height, std::int64_t width) {
  if (image.width != width) {
    Image out = blank(image.height, width, image.channels);
    resize_rows(image, out);
    image = std::move(out);
  }
  if (image.height != height) {
    Image out = blank(height, image.width, image.channels);
    resize_columns(image, out);
    image = std::move(out);
  }
}

}  // namespace kedge::data
