#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/random.h"
#include "core/result.h"
#include "data/internal/transform_args.h"
#include "data/pipeline.h"

namespace kedge::data {
namespace {

class VerticalFlip : public Transform {
 public:
  void apply(Image& image, Visit& visit) const override {
    if (visit.random.uniform() >= 0.5) {
      return;
    }
    const std::int64_t row_bytes = image.width * image.channels;
    for (std::int64_t y = 0; y < image.height / 2; ++y) {
      std::uint8_t* upper = image.pixels.data() + y * row_bytes;
      std::uint8_t* lower = image.pixels.data() + (image.height - 1 - y) * row_bytes;
      std::swap_ranges(upper, upper + row_bytes, lower);
    }
  }

  bool is_random() const override { return true; }

  Placing placing() const override { return Placing::Mirror; }

  void place(Placement& placement, Visit& visit) const override {
    if (visit.random.uniform() < 0.5) {
      placement.mirror_y();
    }
  }
};

Result<std::unique_ptr<Transform>> make_vflip(const TransformArgs& args) {
  KEDGE_TRY(parse_numbers({.form = "vflip"}, args));
  return std::make_unique<VerticalFlip>();
}

const Transforms::Add kAddVflip({"vflip", "vflip: top and bottom changed over, half the time",
                                 make_vflip});

}  // namespace
}  // namespace kedge::data
