#include <cstdint>
#include <memory>

#include "core/random.h"
#include "core/result.h"
#include "data/internal/pixels.h"
#include "data/internal/transform_args.h"
#include "data/pipeline.h"

namespace kedge::data {
namespace {

constexpr ArgsForm kForm = {.form = "random_crop SIZE [PADDING]", .min_count = 1, .max_count = 2};

class RandomCrop : public Transform {
 public:
  RandomCrop(std::int64_t size, std::int64_t padding) : size_(size), padding_(padding) {}

  void apply(Image& image, Random& random) const override {
    const std::int64_t top = start(image.height, random);
    const std::int64_t left = start(image.width, random);
    crop(image, {.top = top, .left = left, .height = size_, .width = size_});
  }

  bool is_random() const override { return true; }

  Placing placing() const override { return Placing::Crop; }

  void place(Placement& placement, Random& random) const override {
    const std::int64_t top = start(placement.height, random);
    const std::int64_t left = start(placement.width, random);
    const auto size = static_cast<std::int32_t>(size_);
    placement.crop(static_cast<std::int32_t>(top), static_cast<std::int32_t>(left), size, size);
  }

 private:
  // An image that is too small even with its padding is padded further, evenly.
  std::int64_t start(std::int64_t side, Random& random) const {
    const std::int64_t room = side + 2 * padding_ - size_;
    if (room < 0) {
      return (side - size_) / 2;
    }
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(room) + 1)) - padding_;
  }

  std::int64_t size_;
  std::int64_t padding_;
};

Result<std::unique_ptr<Transform>> make_random_crop(const TransformArgs& args) {
  const auto sizes = KEDGE_TRY(parse_sizes(kForm, args));
  return std::make_unique<RandomCrop>(sizes[0], sizes.size() > 1 ? sizes[1] : 0);
}

const Transforms::Add kAdd({"random_crop",
                            "random_crop SIZE [PADDING]: a square from anywhere, after black "
                            "padding on every side",
                            make_random_crop});

}  // namespace
}  // namespace kedge::data
