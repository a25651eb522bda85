#include "mlflow/internal/graphql_limits.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include <fmt/format.h>

namespace kedge::mlflow {
namespace {

using graphql::Document;
using graphql::Selection;

constexpr std::size_t kMostRootFields = 10;
constexpr std::size_t kMostAliases = 10;  // of one level
constexpr std::size_t kMostDepth = 10;
constexpr std::size_t kMostFields = 1000;

// Null for one that is not there or was spread already: a fragment may be in itself.
const std::vector<Selection>* find_fragment(const Document& document, const std::string& name,
                                            std::set<std::string>& spread) {
  const auto found = document.fragments.find(name);
  const bool is_new = found != document.fragments.end() && spread.insert(name).second;
  return is_new ? &found->second.selections : nullptr;
}

void collect_level(const Document& document, const std::vector<Selection>& selections,
                   std::set<std::string>& spread, std::vector<const Selection*>& fields) {
  for (const Selection& selection : selections) {
    if (selection.kind == Selection::Kind::Field) {
      fields.push_back(&selection);
      continue;
    }
    const bool is_spread = selection.kind == Selection::Kind::Spread;
    const auto* inner =
        is_spread ? find_fragment(document, selection.name, spread) : &selection.selections;
    if (inner != nullptr) {
      collect_level(document, *inner, spread, fields);
    }
  }
}

class Scan {
 public:
  explicit Scan(const Document& document) : document_(document) {}

  // False when it is too deep or too long to go on.
  bool look(const std::vector<Selection>& selections, std::size_t depth) {
    if (depth > kMostDepth) {
      excess = fmt::format("Query exceeds maximum depth of {}", kMostDepth);
      return false;
    }
    const auto fields = fields_of_level(document_, selections);
    field_count_ += fields.size();
    if (field_count_ > kMostFields) {
      excess = fmt::format("Query exceeds maximum total selections of {}", kMostFields);
      return false;
    }
    if (depth == 1) {
      root_count += fields.size();
    }
    const auto aliases =
        std::ranges::count_if(fields, [](const Selection* field) { return !field->alias.empty(); });
    alias_count = std::max(alias_count, static_cast<std::size_t>(aliases));
    return std::ranges::all_of(fields, [&](const Selection* field) {
      return field->selections.empty() || look(field->selections, depth + 1);
    });
  }

  std::string excess;
  std::size_t root_count = 0;
  std::size_t alias_count = 0;

 private:
  const Document& document_;
  std::size_t field_count_ = 0;
};

std::string too_many(std::size_t most, std::size_t count, const char* what) {
  return fmt::format("GraphQL queries should have at most {} {}, got {} {}.", most, what, count,
                     what);
}

}  // namespace

std::vector<const Selection*> fields_of_level(const Document& document,
                                              const std::vector<Selection>& selections) {
  std::set<std::string> spread;
  std::vector<const Selection*> fields;
  collect_level(document, selections, spread, fields);
  return fields;
}

std::optional<std::string> find_excess(const Document& document) {
  Scan scan(document);
  for (const graphql::Operation& operation : document.operations) {
    if (!scan.look(operation.selections, 1)) {
      return scan.excess;
    }
  }
  if (scan.root_count > kMostRootFields) {
    return too_many(kMostRootFields, scan.root_count, "root fields");
  }
  if (scan.alias_count > kMostAliases) {
    return too_many(kMostAliases, scan.alias_count, "aliases");
  }
  return std::nullopt;
}

}  // namespace kedge::mlflow
