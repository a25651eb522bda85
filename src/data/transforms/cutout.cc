#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/random.h"
#include "core/result.h"
#include "data/internal/transform_args.h"
#include "data/pipeline.h"

namespace kedge::data {
namespace {

// The paper (arXiv:1708.04552) fills with the data set's mean, which is 0 after normalisation;
// 8-bit pixels come before it, so the image's own mean stands in.
std::array<std::uint8_t, 4> mean_color(const Image& image) {
  std::array<std::uint64_t, 4> sums{};
  const auto channels = static_cast<std::size_t>(image.channels);
  for (std::size_t i = 0; i < image.pixels.size(); i += channels) {
    for (std::size_t c = 0; c < channels; ++c) {
      sums[c] += image.pixels[i + c];
    }
  }
  const auto count = static_cast<std::uint64_t>(image.height * image.width);
  std::array<std::uint8_t, 4> mean{};
  for (std::size_t c = 0; c < channels && count > 0; ++c) {
    mean[c] = static_cast<std::uint8_t>((sums[c] + count / 2) / count);
  }
  return mean;
}

class Cutout : public Transform {
 public:
  explicit Cutout(std::int64_t size) : size_(size) {}

  // The square's middle is anywhere in the image, so a part of it may lie outside.
  void apply(Image& image, Random& random) const override {
    const auto middle_y =
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(image.height)));
    const auto middle_x =
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(image.width)));
    const std::int64_t top = std::max<std::int64_t>(0, middle_y - size_ / 2);
    const std::int64_t left = std::max<std::int64_t>(0, middle_x - size_ / 2);
    const std::int64_t bottom = std::min(image.height, middle_y - size_ / 2 + size_);
    const std::int64_t right = std::min(image.width, middle_x - size_ / 2 + size_);
    const std::array<std::uint8_t, 4> color = mean_color(image);
    for (std::int64_t y = top; y < bottom; ++y) {
      for (std::int64_t x = left; x < right; ++x) {
        std::copy_n(color.begin(), image.channels,
                    image.pixels.begin() + (y * image.width + x) * image.channels);
      }
    }
  }

  bool is_random() const override { return true; }

 private:
  std::int64_t size_;
};

Result<std::unique_ptr<Transform>> make_cutout(const TransformArgs& args) {
  const auto sizes =
      KEDGE_TRY(parse_sizes({.form = "cutout SIZE", .min_count = 1, .max_count = 1}, args));
  return std::make_unique<Cutout>(sizes[0]);
}

const Transforms::Add kAdd({"cutout", "cutout SIZE: a square somewhere painted over", make_cutout});

}  // namespace
}  // namespace kedge::data
