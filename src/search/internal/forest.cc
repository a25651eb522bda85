#include "search/internal/forest.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "search/space.h"

namespace kedge::search {

struct Tree::Split {
  double gain = -1;  // the fall of the sum of squares
  std::size_t axis = 0;
  double threshold = 0;
  std::vector<bool> is_left = {};
};

// A box of the cube in which the tree predicts one value.
struct Tree::Leaf {
  std::vector<double> low;
  std::vector<double> high;
  std::vector<std::vector<bool>> allowed;  // by axis of choices
  double value = 0;

  double width(std::size_t axis, std::uint64_t choices) const {
    if (choices == 0) {
      return high[axis] - low[axis];
    }
    return static_cast<double>(std::ranges::count(allowed[axis], true)) /
           static_cast<double>(choices);
  }
};

Tree::Tree(const ForestData& data, std::vector<std::size_t> rows) : data_(data) {
  nodes_.reserve(2 * rows.size());
  grow(rows, 0, rows.size());
}

// The best split of sorted values: the sums on both sides tell the gain.
Tree::Split Tree::find_split(std::span<const std::size_t> rows, std::size_t axis) const {
  std::vector<std::pair<double, double>> sorted;  // (key, value)
  const std::uint64_t choices = data_.choices[axis];
  std::vector<double> means(choices, 0.0);
  if (choices > 0) {
    // Ordered by their mean, the best of all ways to part choices is a cut (Breiman et al. 1984).
    std::vector<double> counts(choices, 0.0);
    for (const std::size_t row : rows) {
      const auto choice = static_cast<std::size_t>(data_.points[row][axis]);
      means[choice] += data_.values[row];
      counts[choice] += 1;
    }
    for (std::size_t i = 0; i < choices; ++i) {
      means[i] = counts[i] > 0 ? means[i] / counts[i] : 0;
    }
  }
  double total = 0;
  for (const std::size_t row : rows) {
    const double x = data_.points[row][axis];
    sorted.emplace_back(choices > 0 ? means[static_cast<std::size_t>(x)] : x, data_.values[row]);
    total += data_.values[row];
  }
  std::ranges::sort(sorted);
  Split best;
  best.axis = axis;
  double left = 0;
  const auto n = static_cast<double>(sorted.size());
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    left += sorted[i - 1].second;
    if (sorted[i].first <= sorted[i - 1].first) {
      continue;
    }
    const auto count = static_cast<double>(i);
    const double right = total - left;
    const double gain = left * left / count + right * right / (n - count) - total * total / n;
    if (gain > best.gain) {
      best.gain = gain;
      best.threshold = std::midpoint(sorted[i - 1].first, sorted[i].first);
    }
  }
  for (std::size_t i = 0; i < choices; ++i) {
    best.is_left.push_back(means[i] < best.threshold);
  }
  return best;
}

bool Tree::goes_left(const Node& node, const Point& point) const {
  const double x = point[node.axis];
  return data_.choices[node.axis] > 0 ? node.is_left[static_cast<std::size_t>(x)]
                                      : x < node.threshold;
}

std::size_t Tree::grow(std::vector<std::size_t>& rows, std::size_t begin, std::size_t end) {
  const std::size_t at = nodes_.size();
  nodes_.emplace_back();
  const std::span<const std::size_t> own(rows.data() + begin, end - begin);
  double sum = 0;
  for (const std::size_t row : own) {
    sum += data_.values[row];
  }
  nodes_[at].value = sum / static_cast<double>(own.size());
  constexpr std::size_t kLeafRows = 3;
  if (own.size() < kLeafRows) {
    return at;
  }
  // All axes at every node: the trees differ by their rows alone. Looking at a part of the axes
  // blurs the variance that single ones explain (Ishigami's second: 0.35 of 0.44).
  Split best;
  for (std::size_t axis = 0; axis < data_.choices.size(); ++axis) {
    Split split = find_split(own, axis);
    if (split.gain > best.gain) {
      best = std::move(split);
    }
  }
  if (best.gain <= 1e-14 * (1 + sum * sum)) {
    return at;
  }
  nodes_[at].axis = best.axis;
  nodes_[at].threshold = best.threshold;
  nodes_[at].is_left = best.is_left;
  const Node node = nodes_[at];
  const auto middle =
      std::partition(rows.begin() + static_cast<std::ptrdiff_t>(begin),
                     rows.begin() + static_cast<std::ptrdiff_t>(end),
                     [&](std::size_t row) { return goes_left(node, data_.points[row]); });
  const auto cut = static_cast<std::size_t>(middle - rows.begin());
  if (cut == begin || cut == end) {
    return at;
  }
  const std::size_t left = grow(rows, begin, cut);
  const std::size_t right = grow(rows, cut, end);
  nodes_[at].left = left;
  nodes_[at].right = right;
  return at;
}

double Tree::predict(const Point& point) const {
  std::size_t at = 0;
  while (nodes_[at].left != 0) {
    at = goes_left(nodes_[at], point) ? nodes_[at].left : nodes_[at].right;
  }
  return nodes_[at].value;
}

void Tree::collect(std::size_t node, const Leaf& box, std::vector<Leaf>& leaves) const {
  const Node& at = nodes_[node];
  if (at.left == 0) {
    leaves.push_back(box);
    leaves.back().value = at.value;
    return;
  }
  Leaf left = box;
  Leaf right = box;
  if (data_.choices[at.axis] > 0) {
    for (std::size_t i = 0; i < at.is_left.size(); ++i) {
      (at.is_left[i] ? right : left).allowed[at.axis][i] = false;
    }
  } else {
    left.high[at.axis] = std::min(left.high[at.axis], at.threshold);
    right.low[at.axis] = std::max(right.low[at.axis], at.threshold);
  }
  collect(at.left, left, leaves);
  collect(at.right, right, leaves);
}

// Exact: a leaf weighs as much as the rest of its box is large.
std::vector<std::vector<double>> Tree::marginals(std::size_t bins) const {
  const std::size_t dimension = data_.choices.size();
  Leaf whole{std::vector<double>(dimension, 0.0), std::vector<double>(dimension, 1.0), {}};
  for (const std::uint64_t choices : data_.choices) {
    whole.allowed.emplace_back(choices, true);
  }
  std::vector<Leaf> leaves;
  collect(0, whole, leaves);
  std::vector<std::vector<double>> marginals;
  for (std::size_t axis = 0; axis < dimension; ++axis) {
    const std::uint64_t choices = data_.choices[axis];
    std::vector<double> marginal(choices > 0 ? choices : bins, 0.0);
    for (const Leaf& leaf : leaves) {
      double rest = leaf.value;
      for (std::size_t other = 0; other < dimension; ++other) {
        rest *= other == axis ? 1 : leaf.width(other, data_.choices[other]);
      }
      for (std::size_t bin = 0; bin < marginal.size(); ++bin) {
        const double x = (static_cast<double>(bin) + 0.5) / static_cast<double>(bins);
        const bool is_inside =
            choices > 0 ? leaf.allowed[axis][bin] : leaf.low[axis] <= x && x < leaf.high[axis];
        marginal[bin] += is_inside ? rest : 0;
      }
    }
    marginals.push_back(std::move(marginal));
  }
  return marginals;
}

}  // namespace kedge::search
