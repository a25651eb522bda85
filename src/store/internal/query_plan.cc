#include "store/internal/query_plan.h"

#include <algorithm>
#include <string>
#include <utility>

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

bool holds(const QueryNode& node, const QueryValue& value) {
  switch (node.kind) {
    case NodeKind::Exists:
      return !std::holds_alternative<std::monostate>(value);
    case NodeKind::OneOf:
      return std::ranges::any_of(node.literals,
                                 [&](const Literal& literal) { return is_equal(value, literal); });
    case NodeKind::Match: {
      const auto* text = std::get_if<std::string_view>(&value);
      return text != nullptr && node.is_match(*text);
    }
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

QueryNode leaf_of(Condition::Kind kind) {
  using Kind = Condition::Kind;
  switch (kind) {
    case Kind::All:
      return {.kind = NodeKind::All};
    case Kind::Any:
      return {.kind = NodeKind::Any};
    case Kind::Not:
      return {.kind = NodeKind::Not};
    case Kind::Exists:
      return {.kind = NodeKind::Exists};
    case Kind::Equal:
      return {.kind = NodeKind::OneOf};
    case Kind::Less:
      return {.kind = NodeKind::Compare, .comparison = TokenKind::Less};
    case Kind::LessEqual:
      return {.kind = NodeKind::Compare, .comparison = TokenKind::LessEqual};
    case Kind::Greater:
      return {.kind = NodeKind::Compare, .comparison = TokenKind::Greater};
    case Kind::GreaterEqual:
      return {.kind = NodeKind::Compare, .comparison = TokenKind::GreaterEqual};
    case Kind::Match:
      break;
  }
  return {.kind = NodeKind::Match};
}

std::uint32_t add_condition(QueryPlan& plan, const Condition& condition) {
  QueryNode node = leaf_of(condition.kind);
  node.view = condition.view;
  node.is_match = condition.is_match;
  for (const auto& value : condition.values) {
    node.literals.push_back(std::visit([](const auto& item) { return Literal(item); }, value));
  }
  for (const Condition& child : condition.children) {
    node.children.push_back(add_condition(plan, child));
  }
  plan.nodes.push_back(std::move(node));
  return static_cast<std::uint32_t>(plan.nodes.size() - 1);
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
      break;
  }
  if (node.view) {
    std::string made;
    return holds(node, node.view(run, made));
  }
  return node.field.name.kind == FieldName::Kind::Tag ? holds_for_tags(node, run)
                                                      : holds(node, value_of(node.field, run));
}

QueryPlan plan_of(const Condition& condition) {
  QueryPlan plan;
  plan.root = add_condition(plan, condition);
  return plan;
}

}  // namespace kedge::store
