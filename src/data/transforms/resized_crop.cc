#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

#include "core/random.h"
#include "core/result.h"
#include "data/internal/pixels.h"
#include "data/internal/transform_args.h"
#include "data/pipeline.h"

namespace kedge::data {
namespace {

constexpr ArgsForm kResizedCropForm = {
    .form = "resized_crop SIZE [MIN_SCALE]", .min_count = 1, .max_count = 2};
constexpr double kMaxAspect = 4.0 / 3.0;

// The Inception crop, with torchvision's way of choosing it.
Rect choose_crop(const Image& image, double min_scale, Random& random) {
  const auto area = static_cast<double>(image.height * image.width);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * random.uniform(min_scale, 1);
    const double aspect = std::exp(random.uniform(-std::log(kMaxAspect), std::log(kMaxAspect)));
    const auto width = static_cast<std::int64_t>(std::nearbyint(std::sqrt(target * aspect)));
    const auto height = static_cast<std::int64_t>(std::nearbyint(std::sqrt(target / aspect)));
    if (width > 0 && width <= image.width && height > 0 && height <= image.height) {
      const auto top = random.below(static_cast<std::uint64_t>(image.height - height) + 1);
      const auto left = random.below(static_cast<std::uint64_t>(image.width - width) + 1);
      return {.top = static_cast<std::int64_t>(top),
              .left = static_cast<std::int64_t>(left),
              .height = height,
              .width = width};
    }
  }
  // The largest crop in the middle whose aspect is allowed.
  const auto longest = [](std::int64_t other) {
    return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(other) * kMaxAspect));
  };
  const std::int64_t width = std::min(image.width, longest(image.height));
  const std::int64_t height = std::min(image.height, longest(image.width));
  return {.top = (image.height - height) / 2,
          .left = (image.width - width) / 2,
          .height = height,
          .width = width};
}

class ResizedCrop : public Transform {
 public:
  ResizedCrop(std::int64_t size, double min_scale) : size_(size), min_scale_(min_scale) {}

  void apply(Image& image, Visit& visit) const override {
    crop(image, choose_crop(image, min_scale_, visit.random));
    resize(image, size_, size_);
  }

  bool is_random() const override { return true; }

 private:
  std::int64_t size_;
  double min_scale_;
};

Result<std::unique_ptr<Transform>> make_resized_crop(const TransformArgs& args) {
  const auto numbers = KEDGE_TRY(parse_numbers(kResizedCropForm, args));
  const double min_scale = numbers.size() > 1 ? numbers[1] : 0.08;
  if (!(min_scale > 0) || min_scale > 1) {
    return std::unexpected(wrong_args(kResizedCropForm, args, "MIN_SCALE is not in (0, 1]"));
  }
  const auto size = KEDGE_TRY(parse_sizes(kResizedCropForm, {args[0]}));
  return std::make_unique<ResizedCrop>(size[0], min_scale);
}

const Transforms::Add kAddResizedCrop(
    {"resized_crop",
     "resized_crop SIZE [MIN_SCALE]: a random part of at least MIN_SCALE "
     "(0.08) of the area, resized to a square",
     make_resized_crop});

}  // namespace
}  // namespace kedge::data
