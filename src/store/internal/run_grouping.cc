#include "store/internal/run_grouping.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "store/internal/key_table.h"

namespace kedge::store {

Result<std::vector<BoundField>> bind_fields(const std::vector<std::string>& names,
                                            const QueryKeys& keys) {
  std::vector<BoundField> fields;
  for (const std::string& name : names) {
    FieldName field = KEDGE_TRY(parse_field_name(name));
    if (field.kind == FieldName::Kind::Tag) {
      return fail(ErrorKind::Usage, "runs cannot be grouped by 'tag', of which a run has many",
                  "filter by a tag, and group by a fact, a config key or a label");
    }
    fields.push_back(bind_field(std::move(field), keys, nullptr));
  }
  return fields;
}

std::string key_of_value(const QueryValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return fmt::format("n{}", static_cast<double>(*integer));
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return fmt::format("n{}", *number);
  }
  if (const auto* truth = std::get_if<bool>(&value)) {
    return *truth ? "t" : "f";
  }
  const auto* text = std::get_if<std::string_view>(&value);
  return text == nullptr || text->empty() ? "" : fmt::format("s{}", *text);
}

std::string key_of_values(const GroupValues& values) {
  std::string key;
  for (const nlohmann::json& value : values) {
    std::string part;
    if (value.is_number()) {
      part = key_of_value(value.get<double>());
    } else if (value.is_boolean()) {
      part = key_of_value(value.get<bool>());
    } else if (value.is_string()) {
      part = key_of_value(std::string_view(value.get_ref<const std::string&>()));
    }
    key += fmt::format("{}:{}", part.size(), part);
  }
  return key;
}

std::vector<GroupedRuns> split_runs(std::span<const EntryPointer> runs,
                                    const std::vector<BoundField>& by) {
  std::vector<GroupedRuns> groups;
  std::unordered_map<std::string, std::size_t> places;
  for (const EntryPointer& run : runs) {
    std::string key;
    for (const BoundField& field : by) {
      const std::string part = key_of_value(value_of(field, *run));
      key += fmt::format("{}:{}", part.size(), part);
    }
    const auto [found, is_new] = places.try_emplace(std::move(key), groups.size());
    if (is_new) {
      GroupValues values;
      for (const BoundField& field : by) {
        const QueryValue value = value_of(field, *run);
        values.push_back(key_of_value(value).empty() ? nlohmann::json() : render_value(value));
      }
      groups.push_back({.values = std::move(values), .runs = {}});
    }
    groups[found->second].runs.push_back(run);
  }
  return groups;
}

}  // namespace kedge::store
