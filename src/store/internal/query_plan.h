// A filter ready to be asked about runs: its conditions as a tree in one vector.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "store/internal/field.h"
#include "store/internal/query_literal.h"
#include "store/query.h"

namespace kedge::store {

enum class NodeKind : std::uint8_t { All, Any, Not, Exists, Compare, OneOf, Match };

struct QueryNode {
  NodeKind kind = NodeKind::All;
  std::vector<std::uint32_t> children = {};  // of All, Any, Not
  BoundField field = {};
  RunView view = {};                        // given: in place of `field`
  TokenKind comparison = TokenKind::Equal;  // of Compare: one of six
  std::vector<Literal> literals = {};       // of Compare: one; of OneOf: any number
  std::function<bool(std::string_view text)> is_match = {};
};

struct QueryPlan {
  std::vector<QueryNode> nodes;
  std::uint32_t root = 0;
  std::vector<std::string> warnings;

  bool matches(std::uint32_t node, const QueriedRun& run) const;
};

QueryPlan plan_of(const Condition& condition);

Result<QueryPlan> parse_query(std::string_view text, const QueryKeys& keys, std::int64_t now_us);

}  // namespace kedge::store
