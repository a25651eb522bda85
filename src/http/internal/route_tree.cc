#include "http/internal/route_tree.h"

namespace kedge::http {

bool is_parameter(std::string_view segment) {
  return segment.starts_with('{');
}

bool takes_rest(std::string_view segment) {
  return segment.ends_with("...}");
}

void RouteTree::add(const std::vector<std::string>& segments, std::size_t number) {
  Node* node = &root_;
  for (const std::string& segment : segments) {
    if (takes_rest(segment)) {
      node->of_rest.push_back(number);
      return;  // it is the last one
    }
    std::unique_ptr<Node>& next = is_parameter(segment) ? node->any : node->named[segment];
    if (next == nullptr) {
      next = std::make_unique<Node>();
    }
    node = next.get();
  }
  node->here.push_back(number);
}

void RouteTree::collect(const Node& node, const std::vector<std::string>& segments, std::size_t at,
                        std::vector<std::size_t>& found) {
  if (at == segments.size()) {
    found.insert(found.end(), node.here.begin(), node.here.end());
    return;
  }
  if (const auto next = node.named.find(segments[at]); next != node.named.end()) {
    collect(*next->second, segments, at + 1, found);
  }
  if (segments[at].empty()) {
    return;  // no parameter is empty
  }
  if (node.any != nullptr) {
    collect(*node.any, segments, at + 1, found);
  }
  found.insert(found.end(), node.of_rest.begin(), node.of_rest.end());
}

std::vector<std::size_t> RouteTree::find(const std::vector<std::string>& segments) const {
  std::vector<std::size_t> found;
  collect(root_, segments, 0, found);
  std::ranges::sort(found);
  return found;
}

}  // namespace kedge::http
