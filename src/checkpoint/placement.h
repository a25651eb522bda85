// Which ranks have what of a training's state.
#pragma once

#include <cstdint>
#include <vector>

namespace kedge::checkpoint {

// Of a part of the state.
enum class Spread : std::uint8_t {
  Replicated,  // every rank, the same values: one of them is saved, all get it back
  PerRank,  // every rank, its own values: each is saved, "cpu" being rank 0's and "cpu.3" rank 3's
  FirstRank,  // sums that the ranks move to the first before they are saved; the others hold zeros
};

// A rectangular piece of a tensor: where it begins along each axis, and how far it goes.
struct Slice {
  std::vector<std::int64_t> offset;
  std::vector<std::int64_t> shape;

  bool operator==(const Slice&) const = default;
};

}  // namespace kedge::checkpoint
