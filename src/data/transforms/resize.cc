#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/random.h"
#include "core/result.h"
#include "data/internal/pixels.h"
#include "data/internal/transform_args.h"
#include "data/pipeline.h"

namespace kedge::data {
namespace {

constexpr ArgsForm kResizeForm = {
    .form = "resize SIZE (the shorter side) | resize HEIGHT WIDTH", .min_count = 1, .max_count = 2};

class Resize : public Transform {
 public:
  explicit Resize(const std::vector<std::int64_t>& sizes)
      : height_(sizes[0]), width_(sizes.size() > 1 ? sizes[1] : kByShorterSide) {}

  void apply(Image& image, Visit&) const override {
    if (width_ != kByShorterSide) {
      resize(image, height_, width_);
      return;
    }
    const std::int64_t shorter = std::min(image.height, image.width);
    resize(image, height_ * image.height / shorter, height_ * image.width / shorter);
  }

 private:
  static constexpr std::int64_t kByShorterSide = 0;

  std::int64_t height_;  // or the shorter side
  std::int64_t width_;
};

Result<std::unique_ptr<Transform>> make_resize(const TransformArgs& args) {
  return std::make_unique<Resize>(KEDGE_TRY(parse_sizes(kResizeForm, args)));
}

const Transforms::Add kAddResize(
    {"resize",
     "resize SIZE | resize HEIGHT WIDTH: bilinear, anti-aliased; with one "
     "number the shorter side gets that size",
     make_resize});

}  // namespace
}  // namespace kedge::data
