// Which ranks have a part of a training's state.
#pragma once

#include <cstdint>

namespace kedge::checkpoint {

enum class Spread : std::uint8_t {
  Replicated,  // every rank, the same values: one of them is saved, all get it back
  PerRank,  // every rank, its own values: each is saved, "cpu" being rank 0's and "cpu.3" rank 3's
  FirstRank,  // sums that the ranks move to the first before they are saved; the others hold zeros
};

}  // namespace kedge::checkpoint
