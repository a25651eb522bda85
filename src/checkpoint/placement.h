// Which ranks have what of a training's state.
#pragma once

#include <cstdint>
#include <vector>

namespace kedge::checkpoint {

// Of a part of the state. On resuming, rank 0 reads what is replicated and broadcasts it: one
// reader and a network are faster than every rank at one shared file, and the newest state may lie
// where only rank 0 is (its memory, its node's fast folder). What is each rank's own is the random
// generators', 5 KB, and goes with it.
enum class Spread : std::uint8_t {
  Replicated,  // every rank, the same values: one of them is saved, all get it back
  PerRank,  // every rank, its own values: each is saved, "cpu" being rank 0's and "cpu.3" rank 3's
  FirstRank,  // sums that the ranks move to the first before they are saved; the others hold zeros
};

// A rectangular piece of a tensor: where it begins along each axis, and how far it goes. A rank
// reads its own by Checkpoint::read_slice(), in whatever pieces it was written.
struct Slice {
  std::vector<std::int64_t> offset;
  std::vector<std::int64_t> shape;

  bool operator==(const Slice&) const = default;
};

}  // namespace kedge::checkpoint
