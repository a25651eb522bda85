// The names of what a run has, as filters and orders write them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "store/internal/query_lexer.h"
#include "store/query.h"

namespace kedge::store {

enum class FieldType : std::uint8_t { Any, Text, Number, Time, Duration };

// All facts' names, and "tag", "config" and "summary": what a slip may have meant.
const std::vector<std::string>& field_names();

FieldType type_of(const FieldName& field);

// A bare word as a name. `summary.KEY.PART`: the last part is min, max, last, count or last_step
// only where it is not between backquotes and something is left before it.
Result<FieldName> field_of(const Token& token);

// A field with the number of its key; nothing: no run has it.
struct BoundField {
  FieldName name;
  std::optional<KeyId> key = {};
};

// Its value in a run; tags are left to the caller.
QueryValue value_of(const BoundField& field, const QueriedRun& run);

// The field, bound; where no run has it, a sentence is added to `warnings` (when given).
BoundField bind_field(FieldName name, const QueryKeys& keys, std::vector<std::string>* warnings);

}  // namespace kedge::store
