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

class CenterCrop : public Transform {
 public:
  explicit CenterCrop(std::int64_t size) : size_(size) {}

  void apply(Image& image, Visit&) const override {
    crop(image,
         {.top = start(image.height), .left = start(image.width), .height = size_, .width = size_});
  }

  Placing placing() const override { return Placing::Crop; }

  void place(Placement& placement, Visit&) const override {
    const auto top = static_cast<std::int32_t>(start(placement.height));
    const auto left = static_cast<std::int32_t>(start(placement.width));
    const auto size = static_cast<std::int32_t>(size_);
    placement.crop(top, left, size, size);
  }

 private:
  // torchvision's: half a pixel goes to the even side; a smaller image gets black borders.
  std::int64_t start(std::int64_t side) const {
    if (side < size_) {
      return -((size_ - side) / 2);
    }
    return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(side - size_) / 2));
  }

  std::int64_t size_;
};

Result<std::unique_ptr<Transform>> make_center_crop(const TransformArgs& args) {
  const auto sizes =
      KEDGE_TRY(parse_sizes({.form = "center_crop SIZE", .min_count = 1, .max_count = 1}, args));
  return std::make_unique<CenterCrop>(sizes[0]);
}

const Transforms::Add kAddCenterCrop({"center_crop", "center_crop SIZE: the square in the middle",
                                      make_center_crop});

}  // namespace
}  // namespace kedge::data
