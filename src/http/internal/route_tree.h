// Patterns of routes by their segments: finding a path costs its length, however many routes there
// are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::http {

class RouteTree {
 public:
  // `segments` of a pattern; `number` is the route's. Several may have the same pattern.
  void add(const std::vector<std::string>& segments, std::size_t number);

  // The numbers of all routes whose pattern the path has, the smallest first.
  std::vector<std::size_t> find(const std::vector<std::string>& segments) const;

 private:
  struct Node {
    std::map<std::string, std::unique_ptr<Node>, std::less<>> named = {};
    std::unique_ptr<Node> any = {};         // a parameter
    std::vector<std::size_t> here = {};     // patterns that end here
    std::vector<std::size_t> of_rest = {};  // patterns whose {path...} begins here
  };

  static void collect(const Node& node, const std::vector<std::string>& segments, std::size_t at,
                      std::vector<std::size_t>& found);

  Node root_;
};

// "{name}" or "{name...}".
bool is_parameter(std::string_view segment);
bool takes_rest(std::string_view segment);

}  // namespace kedge::http
