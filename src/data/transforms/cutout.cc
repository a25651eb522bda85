#include <algorithm>
#include <cstdint>
#include <memory>

#include "core/random.h"
#include "core/result.h"
#include "data/internal/transform_args.h"
#include "data/pipeline.h"
#include "data/placement.h"

namespace kedge::data {
namespace {

class Cutout : public Transform {
 public:
  explicit Cutout(std::int64_t size) : size_(static_cast<std::int32_t>(size)) {}

  // The square's middle is anywhere in the image, so a part of it may lie outside.
  void apply(Image& image, Visit& visit) const override {
    Placement cut{.height = static_cast<std::int32_t>(image.height),
                  .width = static_cast<std::int32_t>(image.width)};
    place(cut, visit);
    paint_cut(cut, image.channels, image.pixels.data());
  }

  bool is_random() const override { return true; }

  Placing placing() const override { return Placing::Cut; }

  void place(Placement& placement, Visit& visit) const override {
    const auto middle = [&](std::int32_t side) {
      return static_cast<std::int32_t>(visit.random.below(static_cast<std::uint64_t>(side)));
    };
    const std::int32_t top = middle(placement.height) - size_ / 2;
    const std::int32_t left = middle(placement.width) - size_ / 2;
    placement.cut_top = std::max(0, top);
    placement.cut_left = std::max(0, left);
    placement.cut_bottom = std::min(placement.height, top + size_);
    placement.cut_right = std::min(placement.width, left + size_);
  }

 private:
  std::int32_t size_;
};

Result<std::unique_ptr<Transform>> make_cutout(const TransformArgs& args) {
  const auto sizes =
      KEDGE_TRY(parse_sizes({.form = "cutout SIZE", .min_count = 1, .max_count = 1}, args));
  return std::make_unique<Cutout>(sizes[0]);
}

const Transforms::Add kAddCutout({"cutout", "cutout SIZE: a square somewhere painted over",
                                  make_cutout});

}  // namespace
}  // namespace kedge::data
