#include "data/internal/packing.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace kedge::data {
namespace {

Groups flatten(std::vector<std::vector<std::uint32_t>>& groups) {
  for (auto& group : groups) {
    std::ranges::sort(group);
  }
  std::ranges::sort(groups, {}, [](const auto& group) { return group.front(); });
  Groups flat;
  for (const auto& group : groups) {
    flat.members.insert(flat.members.end(), group.begin(), group.end());
    flat.starts.push_back(flat.members.size());
  }
  return flat;
}

}  // namespace

Groups pack_documents(std::span<const std::int32_t> lengths, std::int32_t capacity) {
  std::vector<std::uint32_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::uint32_t document) { return lengths[document]; });
  std::vector<std::vector<std::uint32_t>> groups;
  std::map<std::int32_t, std::vector<std::size_t>> by_room;  // groups that have some left
  for (const std::uint32_t document : order) {
    const std::int32_t length = lengths[document];
    std::size_t group = groups.size();
    std::int32_t room = capacity;
    if (const auto fits = by_room.lower_bound(length); fits != by_room.end()) {
      room = fits->first;
      group = fits->second.back();
      fits->second.pop_back();
      if (fits->second.empty()) {
        by_room.erase(fits);
      }
    } else {
      groups.emplace_back();
    }
    groups[group].push_back(document);
    if (room > length) {
      by_room[room - length].push_back(group);
    }
  }
  return flatten(groups);
}

Groups one_each(std::size_t documents) {
  Groups groups;
  groups.members.resize(documents);
  std::iota(groups.members.begin(), groups.members.end(), 0U);
  groups.starts.resize(documents + 1);
  std::iota(groups.starts.begin(), groups.starts.end(), std::size_t{0});
  return groups;
}

}  // namespace kedge::data
