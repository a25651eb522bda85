#include "search/internal/sobol.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/result.h"
#include "search/internal/design.h"
#include "search/sampler.h"
#include "search/space.h"

namespace kedge::search {
namespace {

class Sobol : public Sampler {
 public:
  explicit Sobol(const Problem& problem) : space_(problem.space), seed_(problem.seed) {}

  std::optional<Point> next(std::span<const Point> /*pending*/, std::int64_t number,
                            std::int64_t try_count) override {
    return design_point(space_, seed_, number, try_count);
  }

 private:
  const Space& space_;
  std::uint64_t seed_;
};

const Samplers::Add kAddSobol{{"sobol", "quasi-random: fills the space more evenly than random",
                               [](const Problem& problem) -> Result<std::unique_ptr<Sampler>> {
                                 return std::make_unique<Sobol>(problem);
                               }}};

}  // namespace
}  // namespace kedge::search
