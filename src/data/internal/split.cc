#include "data/internal/split.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "core/result.h"
#include "data/order.h"

namespace kedge::data {
namespace {

// Tells the two uses of the split seed apart.
constexpr std::uint64_t kHoldOutTag = 0x686F6C64;
constexpr std::uint64_t kFractionTag = 0x73686172;

using Group = std::vector<std::int64_t>;

// The samples of each class, or all in one group.
std::vector<Group> group_samples(const Dataset& dataset, bool by_class) {
  std::vector<Group> groups(1);
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const auto group = by_class ? static_cast<std::size_t>(dataset.label(i)) : 0;
    if (group >= groups.size()) {
      groups.resize(group + 1);
    }
    groups[group].push_back(i);
  }
  return groups;
}

// The first `count` of the group in a seeded order.
void choose(const Group& group, std::int64_t count, std::uint64_t seed, std::uint64_t tag,
            std::vector<bool>& is_chosen) {
  const auto size = static_cast<std::int64_t>(group.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(permuted(size, seed, tag, i));
    is_chosen[static_cast<std::size_t>(group[at])] = true;
  }
}

std::vector<std::int64_t> group_sizes(const std::vector<Group>& groups) {
  std::vector<std::int64_t> sizes;
  for (const Group& group : groups) {
    sizes.push_back(static_cast<std::int64_t>(group.size()));
  }
  return sizes;
}

}  // namespace

std::vector<std::int64_t> apportion(std::int64_t total, const std::vector<std::int64_t>& sizes) {
  const std::int64_t sum = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  KEDGE_CHECK(total >= 0 && total <= sum, "no more is taken than there is");
  std::vector<std::int64_t> shares(sizes.size());
  if (sum == 0) {
    return shares;
  }
  // 128 bits: the product of two sample counts can pass 2^63.
  using Wide = __int128;
  std::vector<std::int64_t> remainders(sizes.size());
  std::int64_t left = total;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Wide exact = static_cast<Wide>(total) * sizes[i];
    shares[i] = static_cast<std::int64_t>(exact / sum);
    remainders[i] = static_cast<std::int64_t>(exact % sum);
    left -= shares[i];
  }
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  for (std::size_t i = 0; left > 0; ++i, --left) {
    ++shares[order[i]];
  }
  return shares;
}

Split hold_out(const Dataset& dataset, std::int64_t count, const SplitOptions& options) {
  const std::vector<Group> groups = group_samples(dataset, options.stratify);
  const std::vector<std::int64_t> shares = apportion(count, group_sizes(groups));
  std::vector<bool> is_held(static_cast<std::size_t>(dataset.size()));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    choose(groups[g], shares[g], options.seed + g, kHoldOutTag, is_held);
  }
  Split split;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    (is_held[static_cast<std::size_t>(i)] ? split.held_out : split.kept).push_back(i);
  }
  return split;
}

std::vector<std::int64_t> choose_fraction(const Dataset& dataset, double ratio,
                                          const SplitOptions& options) {
  const std::vector<Group> groups = group_samples(dataset, options.stratify);
  const auto total =
      static_cast<std::int64_t>(std::llround(ratio * static_cast<double>(dataset.size())));
  const std::vector<std::int64_t> shares = apportion(total, group_sizes(groups));
  std::vector<bool> is_chosen(static_cast<std::size_t>(dataset.size()));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto least = std::min<std::int64_t>(1, static_cast<std::int64_t>(groups[g].size()));
    choose(groups[g], std::max(least, shares[g]), options.seed + g, kFractionTag, is_chosen);
  }
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    if (is_chosen[static_cast<std::size_t>(i)]) {
      chosen.push_back(i);
    }
  }
  return chosen;
}

}  // namespace kedge::data
