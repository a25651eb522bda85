// The points that a sweep begins with, before there is anything to learn from.
#pragma once

#include <cstdint>

#include "search/space.h"

namespace kedge::search {

// Scrambled Sobol point number `number` (from 1); random where `try_count` is above 0 (the point
// was taken) and in dimensions beyond the table.
Point design_point(const Space& space, std::uint64_t seed, std::int64_t number,
                   std::int64_t try_count);

}  // namespace kedge::search
