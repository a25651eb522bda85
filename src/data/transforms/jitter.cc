#include "data/internal/jitter.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/result.h"
#include "data/internal/transform_args.h"
#include "data/pipeline.h"

namespace kedge::data {
namespace {

constexpr ArgsForm kJitterForm = {
    .form = "jitter BRIGHTNESS CONTRAST SATURATION", .min_count = 3, .max_count = 3};

// torchvision's ColorJitter: each strength s gives a factor in [max(0, 1-s), 1+s], in random order.
class Jitter : public Transform {
 public:
  explicit Jitter(const std::vector<double>& strengths)
      : strengths_{strengths[0], strengths[1], strengths[2]} {}

  void apply(Image& image, Visit& visit) const override {
    change_colours(draw(visit.random), image.channels, image.pixels);
  }

  bool is_random() const override { return true; }

  Placing placing() const override { return Placing::Colour; }

  void place(Placement& placement, Visit& visit) const override {
    placement.colours = draw(visit.random);
  }

 private:
  Colours draw(Random& random) const {
    using Step = Colours::Step;
    Colours colours;
    const std::array<Step, 3> steps = {Step::Brightness, Step::Contrast, Step::Saturation};
    const std::array<float*, 3> factors = {&colours.brightness, &colours.contrast,
                                           &colours.saturation};
    std::array<std::size_t, 3> order = {0, 1, 2};
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[random.below(i)]);
    }
    for (const std::size_t i : order) {
      const double strength = strengths_[i];
      const double factor = random.uniform(std::max(0.0, 1 - strength), 1 + strength);
      if (strength > 0) {
        *factors[i] = static_cast<float>(factor);
        colours.add(steps[i]);
      }
    }
    return colours;
  }

  std::array<double, 3> strengths_;
};

Result<std::unique_ptr<Transform>> make_jitter(const TransformArgs& args) {
  return std::make_unique<Jitter>(KEDGE_TRY(parse_numbers(kJitterForm, args)));
}

const Transforms::Add kAddJitter(
    {"jitter",
     "jitter BRIGHTNESS CONTRAST SATURATION: colours changed by factors of "
     "1 - x to 1 + x",
     make_jitter});

}  // namespace
}  // namespace kedge::data
