#include "wandb/internal/history.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "wandb/internal/history_row.h"
#include "wandb/internal/lenient_json.h"

namespace kedge::wandb {
namespace {

using nlohmann::json;

struct BuiltRow {
  json values = json::object();
  std::int64_t time_us = 0;
};

// From the curves, for steps up to and including `range.max`.
Result<std::vector<std::string>> build_rows(const RunNode& run, const StepRange& range) {
  const store::Store& store = run.call().api.store;
  std::map<std::int64_t, BuiltRow> rows;
  for (const store::Metric& metric : KEDGE_TRY(store.list_metrics(run.key()))) {
    if (metric.kind != store::MetricKind::Metric) {
      continue;
    }
    const track::Curve curve = KEDGE_TRY(store.read_history(run.key(), metric.key));
    for (const track::Point& point : curve.points) {
      if (point.step >= range.min && point.step <= range.max) {
        BuiltRow& row = rows[point.step];
        row.values[metric.key] = point.value;
        row.time_us = std::max(row.time_us, point.time_us);
      }
    }
  }
  const std::int64_t created_us = KEDGE_TRY(run.facts())->created_us;
  std::vector<std::string> texts;
  for (auto& [step, row] : rows) {
    row.values["_step"] = step;
    row.values["_timestamp"] = static_cast<double>(row.time_us) / kSecond_us;
    row.values["_runtime"] = static_cast<double>(row.time_us - created_us) / kSecond_us;
    texts.push_back(render_lenient(row.values));
  }
  return texts;
}

std::vector<std::string> texts_of(std::vector<store::StoredRow> rows) {
  std::vector<std::string> texts;
  texts.reserve(rows.size());
  for (store::StoredRow& row : rows) {
    texts.push_back(std::move(row.text));
  }
  return texts;
}

// A key's value in a row: by its whole name, or inside of objects.
const json* find_value(const json& row, std::string_view key) {
  if (const auto found = row.find(key); found != row.end()) {
    return &*found;
  }
  for (auto dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.', dot + 1)) {
    const auto outer = row.find(key.substr(0, dot));
    if (outer != row.end() && outer->is_object()) {
      if (const json* inner = find_value(*outer, key.substr(dot + 1))) {
        return inner;
      }
    }
  }
  return nullptr;
}

std::string type_word(const json& value) {
  if (value.is_number()) {
    return "number";
  }
  if (is_media(value)) {
    return value["_type"].get<std::string>();
  }
  return value.is_string() ? "string" : value.is_boolean() ? "boolean" : "unknown";
}

json describe_key(const std::string& type, std::uint64_t count, const json& last) {
  return {{"typeCounts", json::array({{{"type", type}, {"count", count}}})},
          {"monotonic", false},
          {"previousValue", make_strict(last)}};
}

}  // namespace

Result<std::vector<std::string>> read_history(const RunNode& run, const StepRange& range) {
  const store::Transcript transcript = run.call().transcript();
  const auto first = KEDGE_TRY(transcript.read_rows(run.key(), {.from = 0, .limit = 1}));
  const std::uint64_t total =
      KEDGE_TRY(transcript.count_rows(run.key(), store::RowStream::History));
  std::vector<std::string> rows;
  if (total == 0) {
    return build_rows(run, range);
  }
  if (first.empty()) {
    // Another program began the run: before the first row that was sent there are its curves.
    const auto sent = KEDGE_TRY(transcript.read_rows(run.key(), {}));
    rows = KEDGE_TRY(build_rows(run, {range.min, std::min(range.max, sent.front().step - 1)}));
  }
  std::vector<std::string> sent = texts_of(
      KEDGE_TRY(transcript.read_rows(run.key(), {.min_step = range.min, .max_step = range.max})));
  std::ranges::move(sent, std::back_inserter(rows));
  return rows;
}

Result<std::vector<std::string>> read_events(const RunNode& run) {
  return texts_of(KEDGE_TRY(
      run.call().transcript().read_rows(run.key(), {.stream = store::RowStream::Events})));
}

Result<std::uint64_t> count_history(const RunNode& run) {
  const std::uint64_t total =
      KEDGE_TRY(run.call().transcript().count_rows(run.key(), store::RowStream::History));
  return total > 0 ? total : KEDGE_TRY(build_rows(run, {})).size();
}

Result<std::vector<std::string>> read_last_row(const RunNode& run) {
  const std::uint64_t total =
      KEDGE_TRY(run.call().transcript().count_rows(run.key(), store::RowStream::History));
  if (total > 0) {
    return texts_of(
        KEDGE_TRY(run.call().transcript().read_rows(run.key(), {.from = total - 1, .limit = 1})));
  }
  std::vector<std::string> rows = KEDGE_TRY(build_rows(run, {}));
  if (rows.size() > 1) {
    rows.erase(rows.begin(), rows.end() - 1);
  }
  return rows;
}

std::vector<std::string> sample(std::vector<std::string> rows, std::size_t count) {
  if (count == 0 || rows.size() <= count) {
    return rows;
  }
  if (count == 1) {
    return {std::move(rows.back())};
  }
  std::vector<std::string> picked;
  picked.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    picked.push_back(std::move(rows[i * (rows.size() - 1) / (count - 1)]));
  }
  return picked;
}

Result<json> read_sampled(const RunNode& run, const json& spec) {
  StepRange range;
  range.min = spec.value("minStep", range.min);
  range.max = spec.value("maxStep", range.max);
  const json keys = spec.value("keys", json::array());
  json found = json::array();
  for (const std::string& text : KEDGE_TRY(read_history(run, range))) {
    const json row = KEDGE_TRY(parse_lenient(text));
    json picked = json::object();
    const bool has_all = std::ranges::all_of(keys, [&](const json& key) {
      const json* value = key.is_string() ? find_value(row, key.get<std::string>()) : nullptr;
      if (value != nullptr) {
        picked[key.get<std::string>()] = make_strict(*value);
      }
      return value != nullptr;
    });
    if (has_all) {
      found.push_back(std::move(picked));
    }
  }
  const std::size_t count = spec.value("samples", std::size_t{500});
  if (found.size() <= count || count < 2) {
    return found;
  }
  json few = json::array();
  for (std::size_t i = 0; i < count; ++i) {
    few.push_back(std::move(found[i * (found.size() - 1) / (count - 1)]));
  }
  return few;
}

Result<json> describe_keys(const RunNode& run) {
  json keys = json::object();
  for (const store::Metric& metric : KEDGE_TRY(run.call().api.store.list_metrics(run.key()))) {
    if (metric.kind == store::MetricKind::Metric) {
      keys[metric.key] = describe_key("number", metric.summary.count, metric.summary.last);
    }
  }
  // Texts and media are no curves; what the last row has of them is told.
  const auto last = KEDGE_TRY(read_last_row(run));
  json row = last.empty() ? json::object() : KEDGE_TRY(parse_lenient(last.back()));
  const std::uint64_t count = KEDGE_TRY(count_history(run));
  for (const auto& [key, value] : flatten(row)) {
    if (!keys.contains(key)) {
      keys[key] = describe_key(type_word(*value), key.starts_with('_') ? count : 1, *value);
    }
  }
  const auto step = row.find("_step");
  return json{{"lastStep", step != row.end() && step->is_number() ? *step : json(-1)},
              {"sets", json::array()},
              {"keys", std::move(keys)}};
}

}  // namespace kedge::wandb
