#include "store/groups.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "core/result.h"
#include "store/internal/key_table.h"
#include "store/internal/run_grouping.h"
#include "store/internal/store_parts.h"
#include "store/store.h"

namespace kedge::store {
namespace {

std::optional<double> number_in(const QueryValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return static_cast<double>(*integer);
  }
  const auto* number = std::get_if<double>(&value);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

FieldSpread sum_up_field(const GroupedRuns& group, const BoundField& field) {
  FieldSpread spread;
  Spread numbers;
  bool is_all_numbers = true;
  std::unordered_set<std::string> different;
  for (const EntryPointer& run : group.runs) {
    const QueryValue value = value_of(field, *run);
    std::string key = key_of_value(value);
    if (key.empty()) {
      continue;
    }
    ++spread.run_count;
    if (different.insert(std::move(key)).second && different.size() == 1) {
      spread.value = render_value(value);
    }
    if (const auto number = number_in(value)) {
      numbers.add(*number);
    } else {
      is_all_numbers = false;
    }
  }
  spread.value_count = different.size();
  if (spread.value_count != 1) {
    spread.value = nullptr;
  }
  if (is_all_numbers && numbers.count() > 0) {
    spread.numbers = numbers;
  }
  return spread;
}

RunGroup sum_up_group(GroupedRuns group, const std::vector<BoundField>& fields) {
  // The order of a search must not change the last digit of a mean.
  std::ranges::sort(group.runs, {}, [](const EntryPointer& run) { return run->row; });
  RunGroup sums{.values = std::move(group.values), .run_count = group.runs.size()};
  for (const EntryPointer& run : group.runs) {
    ++sums.states[std::string(name_of(run->facts.state))];
  }
  for (const BoundField& field : fields) {
    sums.fields.push_back(sum_up_field(group, field));
  }
  return sums;
}

}  // namespace

Result<GroupAnswer> Store::group_runs(const GroupRequest& request, std::int64_t now_us) const {
  const RunIndex& index = impl_->index;
  const auto by = KEDGE_TRY(bind_fields(request.by, index));
  const auto fields = KEDGE_TRY(bind_fields(request.fields, index));
  Search search = request.search;
  search.limit = std::numeric_limits<std::size_t>::max();
  search.offset = 0;
  FoundRuns found = KEDGE_TRY(index.search(search, now_us));
  std::vector<GroupedRuns> groups = split_runs(found.runs, by);
  GroupAnswer answer{.groups = {},
                     .total = groups.size(),
                     .run_total = found.total,
                     .warnings = std::move(found.warnings)};
  const std::size_t begin = std::min(request.search.offset, groups.size());
  const std::size_t end = begin + std::min(request.search.limit, groups.size() - begin);
  for (std::size_t i = begin; i < end; ++i) {
    answer.groups.push_back(sum_up_group(std::move(groups[i]), fields));
  }
  return answer;
}

}  // namespace kedge::store
