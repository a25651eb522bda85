#include "store/internal/query_plan.h"

#include <algorithm>

namespace kedge::store {
namespace {

bool holds(TokenKind comparison, const QueryValue& value, const Literal& literal) {
  switch (comparison) {
    case TokenKind::Equal:
      return is_equal(value, literal);
    case TokenKind::NotEqual:
      return !is_equal(value, literal);
    default:
      break;
  }
  const auto order = find_order(value, literal);
  if (!order) {
    return false;
  }
  switch (comparison) {
    case TokenKind::Less:
      return *order < 0;
    case TokenKind::LessEqual:
      return *order <= 0;
    case TokenKind::Greater:
      return *order > 0;
    default:
      return *order >= 0;
  }
}

bool is_match(const QueryNode& node, const QueryValue& value) {
  const auto* text = std::get_if<std::string_view>(&value);
  return text != nullptr && node.pattern->is_in(*text);
}

bool holds(const QueryNode& node, const QueryValue& value) {
  switch (node.kind) {
    case NodeKind::Exists:
      return !std::holds_alternative<std::monostate>(value);
    case NodeKind::OneOf:
      return std::ranges::any_of(node.literals,
                                 [&](const Literal& literal) { return is_equal(value, literal); });
    case NodeKind::Match:
      return is_match(node, value);
    default:
      return holds(node.comparison, value, node.literals[0]);
  }
}

// True when one of the tags does it; `!=` when none is the one.
bool holds_for_tags(const QueryNode& node, const QueriedRun& run) {
  const bool is_not_equal =
      node.kind == NodeKind::Compare && node.comparison == TokenKind::NotEqual;
  for (std::size_t i = 0; i < run.tag_count(); ++i) {
    if (holds(node, run.tag(i)) != is_not_equal) {
      return !is_not_equal;
    }
  }
  return is_not_equal;
}

}  // namespace

bool QueryPlan::matches(std::uint32_t index, const QueriedRun& run) const {
  const QueryNode& node = nodes[index];
  const auto matches_child = [&](std::uint32_t child) { return matches(child, run); };
  switch (node.kind) {
    case NodeKind::All:
      return std::ranges::all_of(node.children, matches_child);
    case NodeKind::Any:
      return std::ranges::any_of(node.children, matches_child);
    case NodeKind::Not:
      return !matches(node.children[0], run);
    default:
      return node.field.name.kind == FieldName::Kind::Tag ? holds_for_tags(node, run)
                                                          : holds(node, value_of(node.field, run));
  }
}

}  // namespace kedge::store
