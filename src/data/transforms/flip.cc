#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "core/random.h"
#include "core/result.h"
#include "data/internal/transform_args.h"
#include "data/pipeline.h"

namespace kedge::data {
namespace {

constexpr ArgsForm kFlipForm = {.form = "flip [alternating]"};
constexpr std::string_view kAlternating = "alternating";

class Flip : public Transform {
 public:
  // Alternating: a sample that was mirrored in one epoch is not in the next, so that two epochs
  // show both sides of every sample (Jordan 2024, arXiv:2404.00498).
  explicit Flip(bool alternates) : alternates_(alternates) {}

  void apply(Image& image, Visit& visit) const override {
    if (!mirrors(visit)) {
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

  void place(Placement& placement, Visit& visit) const override {
    if (mirrors(visit)) {
      placement.mirror_x();
    }
  }

 private:
  bool mirrors(Visit& visit) const {
    if (alternates_) {
      return (visit.sample_key + static_cast<std::uint64_t>(visit.epoch)) % 2 == 1;
    }
    return visit.random.uniform() < 0.5;
  }

  bool alternates_;
};

Result<std::unique_ptr<Transform>> make_flip(const TransformArgs& args) {
  const bool alternates = args.size() == 1 && args.front() == kAlternating;
  if (!alternates) {
    KEDGE_TRY(parse_numbers(kFlipForm, args));
  }
  return std::make_unique<Flip>(alternates);
}

const Transforms::Add kAddFlip(
    {"flip",
     "flip [alternating]: left and right changed over, half the time, or "
     "in every other epoch",
     make_flip});

}  // namespace
}  // namespace kedge::data
