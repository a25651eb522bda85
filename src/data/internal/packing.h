// Which documents share a sample, so that little of it is padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kedge::data {

// Groups of numbers from 0 on, one after the other.
struct Groups {
  std::vector<std::uint32_t> members;
  std::vector<std::size_t> starts = {0};  // one more than there are groups

  std::size_t size() const { return starts.size() - 1; }

  std::span<const std::uint32_t> operator[](std::size_t group) const {
    return std::span(members).subspan(starts[group], starts[group + 1] - starts[group]);
  }
};

// Best-fit decreasing: the longest document first, each where it leaves the least room. Lengths are
// from 1 to `capacity`. Documents of a group, and groups by their first document, are in order; the
// result depends on nothing but the arguments.
Groups pack_documents(std::span<const std::int32_t> lengths, std::int32_t capacity);

// Each document in a group of its own.
Groups one_each(std::size_t documents);

}  // namespace kedge::data
