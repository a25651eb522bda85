#include "search/internal/design.h"

#include <cstddef>
#include <cstdint>

#include "core/random.h"
#include "search/internal/sobol.h"
#include "search/space.h"

namespace kedge::search {

Point design_point(const Space& space, std::uint64_t seed, std::int64_t number,
                   std::int64_t try_count) {
  Random random({seed, static_cast<std::uint64_t>(number), static_cast<std::uint64_t>(try_count)});
  Point point(space.axes().size());
  for (std::size_t i = 0; i < point.size(); ++i) {
    point[i] = try_count > 0 || i >= sobol_dimensions()
                   ? random.uniform()
                   : scrambled_sobol(static_cast<std::uint32_t>(number - 1), i, seed);
  }
  return point;
}

}  // namespace kedge::search
