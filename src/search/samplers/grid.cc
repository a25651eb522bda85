#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/result.h"
#include "search/sampler.h"
#include "search/space.h"

namespace kedge::search {
namespace {

class Grid : public Sampler {
 public:
  explicit Grid(const Space& space) : space_(space), size_(space.count().value_or(0)) {}

  std::optional<Point> next(std::span<const Point> /*pending*/, std::int64_t number,
                            std::int64_t try_count) override {
    const auto tries = static_cast<std::uint64_t>(try_count);
    if (tries >= size_) {
      return std::nullopt;
    }
    return space_.grid_point((static_cast<std::uint64_t>(number - 1) + tries) % size_);
  }

 private:
  const Space& space_;
  std::uint64_t size_;
};

const Samplers::Add kAddGrid{{"grid", "every combination of values, in order",
                              [](const Problem& problem) -> Result<std::unique_ptr<Sampler>> {
                                return std::make_unique<Grid>(problem.space);
                              }}};

}  // namespace
}  // namespace kedge::search
