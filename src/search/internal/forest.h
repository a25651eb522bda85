// A random forest of regression trees over the cube, whose variance can be taken apart by axes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/space.h"

namespace kedge::search {

struct ForestData {
  std::vector<Point> points;  // coordinates of choices are their index
  std::vector<double> values;
  std::vector<std::uint64_t> choices;  // by axis: how many choices it has; 0: a number in [0, 1]
};

class Tree {
 public:
  // Grown on `rows` of the data, which may repeat.
  Tree(const ForestData& data, std::vector<std::size_t> rows);

  double predict(const Point& point) const;

  // By axis: what it predicts on average over all other axes, at each choice or in the middle of
  // each of `bins` equal parts of the axis.
  std::vector<std::vector<double>> marginals(std::size_t bins) const;

 private:
  struct Node {
    std::size_t axis = 0;
    double threshold = 0;       // of numbers: left is below it
    std::vector<bool> is_left;  // of choices
    std::size_t left = 0;       // 0: a leaf
    std::size_t right = 0;
    double value = 0;
  };

  struct Split;
  struct Leaf;

  std::size_t grow(std::vector<std::size_t>& rows, std::size_t begin, std::size_t end);
  Split find_split(std::span<const std::size_t> rows, std::size_t axis) const;
  bool goes_left(const Node& node, const Point& point) const;
  void collect(std::size_t node, const Leaf& box, std::vector<Leaf>& leaves) const;

  const ForestData& data_;
  std::vector<Node> nodes_;
};

}  // namespace kedge::search
