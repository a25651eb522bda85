// Puts runs into groups by the values of some fields.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "store/groups.h"
#include "store/internal/field.h"
#include "store/internal/run_index.h"

namespace kedge::store {

struct GroupedRuns {
  GroupValues values;
  std::vector<EntryPointer> runs;
};

// Usage when a name cannot be read. Tags are refused: a run has many.
Result<std::vector<BoundField>> bind_fields(const std::vector<std::string>& names,
                                            const QueryKeys& keys);

// Texts that are equal when the values are one in the sense of GroupValues.
std::string key_of_value(const QueryValue& value);
std::string key_of_values(const GroupValues& values);

// In the order in which their first runs come.
std::vector<GroupedRuns> split_runs(std::span<const EntryPointer> runs,
                                    const std::vector<BoundField>& by);

}  // namespace kedge::store
