#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/random.h"
#include "core/result.h"
#include "data/internal/transform_args.h"
#include "data/pipeline.h"

namespace kedge::data {
namespace {

class Flip : public Transform {
 public:
  void apply(Image& image, Random& random) const override {
    if (random.uniform() >= 0.5) {
      return;
    }
    const auto channels = static_cast<std::size_t>(image.channels);
    const auto width = static_cast<std::size_t>(image.width);
    for (std::int64_t y = 0; y < image.height; ++y) {
      std::uint8_t* row = image.pixels.data() + static_cast<std::size_t>(y) * width * channels;
      for (std::size_t x = 0; x < width / 2; ++x) {
        std::swap_ranges(row + x * channels, row + (x + 1) * channels,
                         row + (width - 1 - x) * channels);
      }
    }
  }

  bool is_random() const override { return true; }

  Placing placing() const override { return Placing::Mirror; }

  void place(Placement& placement, Random& random) const override {
    if (random.uniform() < 0.5) {
      placement.mirror_x();
    }
  }
};

Result<std::unique_ptr<Transform>> make_flip(const TransformArgs& args) {
  KEDGE_TRY(parse_numbers({.form = "flip"}, args));
  return std::make_unique<Flip>();
}

const Transforms::Add kAdd({"flip", "flip: left and right changed over, half the time", make_flip});

}  // namespace
}  // namespace kedge::data
