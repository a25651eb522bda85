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

// The weights of the input pixels that make each output pixel: equally many for each, since a loop
// whose length changes from pixel to pixel takes twice the time. Some are 0.
struct Taps {
  std::size_t count = 0;
  std::vector<std::int64_t> firsts;   // input pixel, by output pixel
  std::vector<std::int32_t> weights;  // count by count
};

Taps make_taps(std::int64_t in_size, std::int64_t out_size) {
  const double scale = static_cast<double>(in_size) / static_cast<double>(out_size);
  // When shrinking the triangle grows, so that every input pixel counts.
  const double support = std::max(scale, 1.0);
  const auto center_of = [&](std::int64_t out) { return (static_cast<double>(out) + 0.5) * scale; };
  const auto first_of = [&](std::int64_t out) {
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(center_of(out) - support + 0.5));
  };
  const auto last_of = [&](std::int64_t out) {  // one past
    return std::min(in_size, static_cast<std::int64_t>(center_of(out) + support + 0.5));
  };
  std::int64_t count = 0;
  for (std::int64_t out = 0; out < out_size; ++out) {
    count = std::max(count, last_of(out) - first_of(out));
  }
  Taps taps{.count = static_cast<std::size_t>(count), .firsts = {}, .weights = {}};
  taps.weights.resize(static_cast<std::size_t>(out_size * count));
  std::vector<double> exact;
  for (std::int64_t out = 0; out < out_size; ++out) {
    const std::int64_t first = first_of(out);
    exact.clear();
    double sum = 0;
    for (std::int64_t x = first; x < last_of(out); ++x) {
      const double distance = std::abs((static_cast<double>(x) - center_of(out) + 0.5) / support);
      exact.push_back(std::max(0.0, 1.0 - distance));
      sum += exact.back();
    }
    taps.firsts.push_back(std::min(first, in_size - count));
    std::int32_t* weights = taps.weights.data() + out * count + (first - taps.firsts.back());
    for (const double weight : exact) {
      *weights++ = static_cast<std::int32_t>(0.5 + weight / sum * (1 << kFractionBits));
    }
  }
  return taps;
}

[[gnu::always_inline]] inline std::uint8_t to_pixel(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

constexpr std::int32_t kHalf = 1 << (kFractionBits - 1);

// Compiled for several processors; the program takes the newest that the machine can do. Baseline
// x86-64 has no multiplication of four 32-bit numbers. Sanitizers do not start with such functions.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define KEDGE_BY_PROCESSOR \
  __attribute__((target_clones("avx2", "sse4.1", "default"), optimize("O3")))
#else
#define KEDGE_BY_PROCESSOR
#endif

using FourNumbers = std::int32_t __attribute__((vector_size(16)));

// The three colours of a pixel at once, and a fourth number that is not used.
KEDGE_BY_PROCESSOR
void resize_colour_rows(const Image& in, const Taps& taps, Image& out) {
  const auto in_size = static_cast<std::size_t>(in.width) * 3;
  const auto out_size = static_cast<std::size_t>(out.width) * 3;
  std::vector<std::int32_t> wide(in_size + 1);
  std::vector<std::int32_t> sums(out_size + 1);
  const std::uint8_t* from = in.pixels.data();
  std::uint8_t* to = out.pixels.data();
  for (std::int64_t y = 0; y < in.height; ++y, from += in_size, to += out_size) {
    for (std::size_t i = 0; i < in_size; ++i) {
      wide[i] = from[i];
    }
    const std::int32_t* weights = taps.weights.data();
    std::int32_t* sums_at = sums.data();
    for (const std::int64_t first : taps.firsts) {
      const std::int32_t* colours_at = wide.data() + first * 3;
      FourNumbers sum = {kHalf, kHalf, kHalf, kHalf};
      for (std::size_t k = 0; k < taps.count; ++k, colours_at += 3) {
        FourNumbers colours;
        std::memcpy(&colours, colours_at, sizeof colours);
        sum += colours * *weights++;
      }
      std::memcpy(sums_at, &sum, sizeof sum);
      sums_at += 3;
    }
    for (std::size_t i = 0; i < out_size; ++i) {
      to[i] = to_pixel(sums[i]);
    }
  }
}

void resize_rows(const Image& in, Image& out) {
  const Taps taps = make_taps(in.width, out.width);
  if (in.channels == 3) {
    resize_colour_rows(in, taps, out);
    return;
  }
  const auto channels = static_cast<std::size_t>(in.channels);
  std::uint8_t* to = out.pixels.data();
  for (std::int64_t y = 0; y < in.height; ++y) {
    const std::uint8_t* row = in.pixels.data() + y * in.width * in.channels;
    const std::int32_t* weights = taps.weights.data();
    for (const std::int64_t first : taps.firsts) {
      for (std::size_t c = 0; c < channels; ++c) {
        const std::uint8_t* from = row + first * in.channels;
        std::int32_t sum = kHalf;
        for (std::size_t k = 0; k < taps.count; ++k, from += channels) {
          sum += from[c] * weights[k];
        }
        *to++ = to_pixel(sum);
      }
      weights += taps.count;
    }
  }
}

KEDGE_BY_PROCESSOR
void resize_columns(const Image& in, Image& out) {
  const Taps taps = make_taps(in.height, out.height);
  const auto row_bytes = static_cast<std::size_t>(in.width * in.channels);
  std::vector<std::int32_t> sums(row_bytes);
  std::uint8_t* to = out.pixels.data();
  const std::int32_t* weights = taps.weights.data();
  for (const std::int64_t first : taps.firsts) {
    std::ranges::fill(sums, kHalf);
    const std::uint8_t* from = in.pixels.data() + static_cast<std::size_t>(first) * row_bytes;
    for (std::size_t k = 0; k < taps.count; ++k, from += row_bytes) {
      const std::int32_t weight = *weights++;
      for (std::size_t i = 0; weight != 0 && i < row_bytes; ++i) {
        sums[i] += from[i] * weight;
      }
    }
    for (std::size_t i = 0; i < row_bytes; ++i) {
      to[i] = to_pixel(sums[i]);
    }
    to += row_bytes;
  }
}

// Images are written to memory that one before them left: on a busy machine fresh memory costs more
// than what is done with it.
thread_local std::vector<std::uint8_t> spare;

Image make_image(std::int64_t height, std::int64_t width, std::int64_t channels) {
  Image image{.height = height, .width = width, .channels = channels, .pixels = {}};
  image.pixels.swap(spare);
  image.pixels.resize(static_cast<std::size_t>(height * width * channels));
  return image;
}

void replace(Image& image, Image by) {
  spare = std::move(image.pixels);
  image = std::move(by);
}

}  // namespace

void crop(Image& image, const Rect& rect) {
  Image out = make_image(rect.height, rect.width, image.channels);
  const std::int64_t left = std::max<std::int64_t>(0, rect.left);
  const std::int64_t right = std::min(image.width, rect.left + rect.width);
  const std::int64_t top = std::max<std::int64_t>(0, rect.top);
  const std::int64_t bottom = std::min(image.height, rect.top + rect.height);
  if (bottom - top < rect.height || right - left < rect.width) {
    std::ranges::fill(out.pixels, std::uint8_t{0});
  }
  for (std::int64_t y = top; y < bottom && left < right; ++y) {
    std::memcpy(
        out.pixels.data() + ((y - rect.top) * rect.width + left - rect.left) * image.channels,
        image.pixels.data() + (y * image.width + left) * image.channels,
        static_cast<std::size_t>((right - left) * image.channels));
  }
  replace(image, std::move(out));
}

void resize(Image& image, std::int64_t height, std::int64_t width) {
  if (image.width != width) {
    Image out = make_image(image.height, width, image.channels);
    resize_rows(image, out);
    replace(image, std::move(out));
  }
  if (image.height != height) {
    Image out = make_image(height, image.width, image.channels);
    resize_columns(image, out);
    replace(image, std::move(out));
  }
}

}  // namespace kedge::data
