// A Sampler proposes points of a space, one after the other. Samplers are plug-ins: one file in
// samplers/ each. They are made anew for every call of propose() and see the whole history.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/registry.h"
#include "search/space.h"

namespace kedge::search {

struct Observation {
  Point point;
  double loss = 0;  // less is better; always finite
};

struct Problem {
  const Space& space;
  std::span<const Observation> told;  // trials with a result, in the order of handing out
  std::uint64_t seed = 0;
  std::optional<std::int64_t> run_cap = {};  // how many trials there will be, where that is said
};

class Sampler {
 public:
  Sampler() = default;
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  virtual ~Sampler() = default;

  // A point for trial `number`, given the points that are out and have no result yet. Whoever
  // calls sees to it that no values come twice: `try_count` counts calls for the same number.
  // Nothing: this sampler has no more points.
  virtual std::optional<Point> next(std::span<const Point> pending, std::int64_t number,
                                    std::int64_t try_count) = 0;
};

using Samplers = Registry<Sampler, Problem>;

}  // namespace kedge::search
