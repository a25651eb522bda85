#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/result.h"
#include "data/internal/pixels.h"
#include "data/internal/transform_args.h"
#include "data/pipeline.h"
#include "data/placement.h"

namespace kedge::data {
namespace {

constexpr ArgsForm kRandomCropForm = {
    .form = "random_crop SIZE [PADDING] [reflect]", .min_count = 1, .max_count = 2};
constexpr std::string_view kReflect = "reflect";

class RandomCrop : public Transform {
 public:
  RandomCrop(std::int64_t size, std::int64_t padding, bool reflects)
      : size_(static_cast<std::int32_t>(size)), padding_(padding), reflects_(reflects) {}

  void apply(Image& image, Visit& visit) const override {
    Placement placement{.height = static_cast<std::int32_t>(image.height),
                        .width = static_cast<std::int32_t>(image.width)};
    place(placement, visit);
    if (!reflects_) {  // whole rows at once
      crop(image, {.top = placement.top, .left = placement.left, .height = size_, .width = size_});
      return;
    }
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(size_ * size_ * image.channels));
    render(placement, {.height = image.height, .width = image.width, .channels = image.channels},
           image.pixels.data(), pixels.data());
    image.height = size_;
    image.width = size_;
    image.pixels = std::move(pixels);
  }

  bool is_random() const override { return true; }

  Placing placing() const override { return Placing::Crop; }

  void place(Placement& placement, Visit& visit) const override {
    const std::int64_t top = start(placement.height, visit.random);
    const std::int64_t left = start(placement.width, visit.random);
    placement.crop(static_cast<std::int32_t>(top), static_cast<std::int32_t>(left), size_, size_);
    placement.reflect = reflects_ ? 1 : 0;
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

  std::int32_t size_;
  std::int64_t padding_;
  bool reflects_;
};

Result<std::unique_ptr<Transform>> make_random_crop(const TransformArgs& args) {
  const bool reflects = !args.empty() && args.back() == kReflect;
  const TransformArgs numbers(args.begin(), args.end() - (reflects ? 1 : 0));
  const auto sizes = KEDGE_TRY(parse_sizes(kRandomCropForm, numbers));
  return std::make_unique<RandomCrop>(sizes[0], sizes.size() > 1 ? sizes[1] : 0, reflects);
}

const Transforms::Add kAddRandomCrop(
    {"random_crop",
     "random_crop SIZE [PADDING] [reflect]: a square from anywhere, after "
     "padding on every side that is black, or the image mirrored",
     make_random_crop});

}  // namespace
}  // namespace kedge::data
