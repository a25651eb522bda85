#include "store/run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/result.h"
#include "store/internal/run_facts.h"

namespace kedge::store {
namespace {

using nlohmann::json;

constexpr std::array<std::pair<std::string_view, RunState>, 9> kRunStates = {{
    {"running", RunState::Running},
    {"finished", RunState::Finished},
    {"failed", RunState::Failed},
    {"crashed", RunState::Crashed},
    {"preempted", RunState::Preempted},
    {"pending", RunState::Pending},
    {"stopped", RunState::Stopped},
    {"interrupted", RunState::Preempted},  // the run folder's words
    {"killed", RunState::Crashed},
}};

std::unexpected<Error> wrong_type(std::string_view field, std::string_view wanted) {
  return fail(ErrorKind::Usage, fmt::format("'{}' must be {}", field, wanted));
}

Result<void> read_field(const std::string& field, const json& value,
                        std::optional<std::string>& out) {
  if (!value.is_string()) {
    return wrong_type(field, "a text");
  }
  out = value.get<std::string>();
  return {};
}

Result<void> read_field(const std::string& field, const json& value,
                        std::optional<std::int64_t>& out) {
  if (!value.is_number_integer()) {
    return wrong_type(field, "a whole number of microseconds");
  }
  out = value.get<std::int64_t>();
  return {};
}

Result<void> read_field(const std::string& field, const json& value,
                        std::optional<std::vector<std::string>>& out) {
  const auto is_text = [](const json& item) { return item.is_string(); };
  if (!value.is_array() || !std::ranges::all_of(value, is_text)) {
    return wrong_type(field, "a list of texts");
  }
  out = value.get<std::vector<std::string>>();
  return {};
}

Result<void> read_field(const std::string& field, const json& value, std::optional<RunState>& out) {
  out = value.is_string() ? parse_run_state(value.get<std::string>()) : std::nullopt;
  return out ? Result<void>()
             : wrong_type(field,
                          "running, finished, failed, crashed, preempted, pending or stopped");
}

Result<void> read_field(const std::string& field, const json& value, json& out) {
  if (!value.is_object()) {
    return wrong_type(field, "an object");
  }
  out = value;
  return {};
}

using Reader = std::function<Result<void>(const std::string&, const json&, RunPatch&)>;

template <typename T>
Reader reader(T RunPatch::* member) {
  return [member](const std::string& field, const json& value, RunPatch& patch) {
    return read_field(field, value, patch.*member);
  };
}

Result<void> read_labels(const std::string& field, const json& value, RunPatch& patch) {
  const auto is_text = [](const json& item) { return item.is_string() || item.is_null(); };
  if (!value.is_object() || !std::ranges::all_of(value, is_text)) {
    return wrong_type(field, "an object of texts");
  }
  patch.labels = value;
  return {};
}

const std::vector<std::pair<std::string_view, Reader>>& readers() {
  static const std::vector<std::pair<std::string_view, Reader>> kReaders = {
      {"name", reader(&RunPatch::name)},
      {"state", reader(&RunPatch::state)},
      {"created_us", reader(&RunPatch::created_us)},
      {"ended_us", reader(&RunPatch::ended_us)},
      {"user", reader(&RunPatch::user)},
      {"host", reader(&RunPatch::host)},
      {"group", reader(&RunPatch::group)},
      {"job_type", reader(&RunPatch::job_type)},
      {"notes", reader(&RunPatch::notes)},
      {"tags", reader(&RunPatch::tags)},
      {"source", reader(&RunPatch::source)},
      {"parent", reader(&RunPatch::parent)},
      {"sweep", reader(&RunPatch::sweep)},
      {"config_hash", reader(&RunPatch::config_hash)},
      {"config", reader(&RunPatch::config)},
      {"summary", reader(&RunPatch::summary)},
      {"labels", read_labels},
      {"deleted_us", reader(&RunPatch::deleted_us)},
      {"environment", reader(&RunPatch::environment)},
  };
  return kReaders;
}

}  // namespace

std::string_view name_of(RunState state) {
  const auto* found =
      std::ranges::find(kRunStates, state, [](const auto& item) { return item.second; });
  return found->first;
}

std::optional<RunState> parse_run_state(std::string_view name) {
  const auto* found =
      std::ranges::find(kRunStates, name, [](const auto& item) { return item.first; });
  return found == kRunStates.end() ? std::nullopt : std::optional(found->second);
}

json render_number(double value) {
  if (std::isfinite(value)) {
    return value;
  }
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

json render_run(const Run& run) {
  json document = {{"config", run.config}, {"labels", run.labels}, {"summary", run.summary}};
  visit_facts(run.facts, [&](const char* name, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::optional<std::int64_t>>) {
      document[name] = value ? json(*value) : json(nullptr);
    } else {
      document[name] = value;
    }
  });
  return document;
}

Result<RunPatch> parse_patch(const json& value) {
  if (!value.is_object()) {
    return wrong_type("the run", "an object");
  }
  RunPatch patch;
  for (const auto& [field, item] : value.items()) {
    const auto found = std::ranges::find(readers(), std::string_view(field),
                                         [](const auto& entry) { return entry.first; });
    if (found == readers().end()) {
      return fail(ErrorKind::Usage, fmt::format("a run has no field '{}' to set", field));
    }
    KEDGE_TRY(found->second(field, item, patch));
  }
  return patch;
}

}  // namespace kedge::store
