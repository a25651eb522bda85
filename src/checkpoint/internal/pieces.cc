#include "checkpoint/internal/pieces.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

namespace kedge::checkpoint {
namespace {

std::int64_t volume_of(std::span<const std::int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

// What two slices of one tensor share; of no volume where they share nothing.
Slice common_of(const Slice& a, const Slice& b) {
  Slice common = a;
  for (std::size_t axis = 0; axis < a.shape.size(); ++axis) {
    const std::int64_t end =
        std::min(a.offset[axis] + a.shape[axis], b.offset[axis] + b.shape[axis]);
    common.offset[axis] = std::max(a.offset[axis], b.offset[axis]);
    common.shape[axis] = std::max<std::int64_t>(0, end - common.offset[axis]);
  }
  return common;
}

// Of the value at `place` of the tensor, in memory that holds `slice`.
std::int64_t index_in(const Slice& slice, std::span<const std::int64_t> place) {
  std::int64_t index = 0;
  for (std::size_t axis = 0; axis < place.size(); ++axis) {
    index = index * slice.shape[axis] + place[axis] - slice.offset[axis];
  }
  return index;
}

// The next row of `slice`, its last axis left out; false after the last.
bool step_row(const Slice& slice, std::vector<std::int64_t>& place) {
  for (std::size_t axis = place.size() - 1; axis-- > 0;) {
    if (++place[axis] < slice.offset[axis] + slice.shape[axis]) {
      return true;
    }
    place[axis] = slice.offset[axis];
  }
  return false;
}

}  // namespace

void copy_common(const Piece& piece, const Slice& wanted, std::int64_t element_bytes,
                 std::span<std::uint8_t> out) {
  const Slice common = common_of(piece.slice, wanted);
  if (volume_of(common.shape) == 0) {
    return;
  }
  const std::int64_t run = common.shape.empty() ? 1 : common.shape.back();
  std::vector<std::int64_t> place = common.offset;
  do {
    std::memcpy(out.data() + index_in(wanted, place) * element_bytes,
                piece.bytes.data() + index_in(piece.slice, place) * element_bytes,
                static_cast<std::size_t>(run * element_bytes));
  } while (!place.empty() && step_row(common, place));
}

std::optional<std::string> find_gap(std::span<const Slice> pieces,
                                    std::span<const std::int64_t> shape) {
  std::int64_t volume = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Slice& piece = pieces[i];
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (piece.offset[axis] < 0 || piece.offset[axis] + piece.shape[axis] > shape[axis]) {
        return "has a piece that is not inside it";
      }
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (volume_of(common_of(piece, pieces[j]).shape) > 0) {
        return "is there twice";
      }
    }
    volume += volume_of(piece.shape);
  }
  return volume == volume_of(shape) ? std::nullopt : std::optional("lacks pieces");
}

}  // namespace kedge::checkpoint
