// Tensors that lie in several shards, a rectangular piece in each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/placement.h"

namespace kedge::checkpoint {

// Values of a tensor, the last axis running fastest, and where they lie in it.
struct Piece {
  Slice slice;
  std::span<const std::uint8_t> bytes;
};

// Copies the values that `piece` and `wanted` have in common to their places in `out`, which holds
// `wanted`.
void copy_common(const Piece& piece, const Slice& wanted, std::int64_t element_bytes,
                 std::span<std::uint8_t> out);

// Why these pieces are not the whole tensor, each of its values once; nothing: they are.
std::optional<std::string> find_gap(std::span<const Slice> pieces,
                                    std::span<const std::int64_t> shape);

}  // namespace kedge::checkpoint
