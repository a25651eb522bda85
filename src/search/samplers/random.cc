#include "core/random.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/result.h"
#include "search/sampler.h"
#include "search/space.h"

namespace kedge::search {
namespace {

class RandomSampler : public Sampler {
 public:
  explicit RandomSampler(const Problem& problem)
      : dimension_(problem.space.axes().size()), seed_(problem.seed) {}

  std::optional<Point> next(std::span<const Point> /*pending*/, std::int64_t number,
                            std::int64_t try_count) override {
    Random random(
        {seed_, static_cast<std::uint64_t>(number), static_cast<std::uint64_t>(try_count)});
    Point point(dimension_);
    for (double& u : point) {
      u = random.uniform();
    }
    return point;
  }

 private:
  std::size_t dimension_;
  std::uint64_t seed_;
};

const Samplers::Add kAddRandom{{"random", "independent draws from the parameters' distributions",
                                [](const Problem& problem) -> Result<std::unique_ptr<Sampler>> {
                                  return std::make_unique<RandomSampler>(problem);
                                }}};

}  // namespace
}  // namespace kedge::search
