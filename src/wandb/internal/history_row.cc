#include "wandb/internal/history_row.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "wandb/internal/lenient_json.h"

namespace kedge::wandb {
namespace {

using nlohmann::json;

void flatten_into(const json& object, const std::string& prefix, FlatValues& out) {
  for (const auto& [name, value] : object.items()) {
    const std::string key = prefix.empty() ? name : prefix + "." + name;
    if (value.is_object() && !value.empty() && !is_media(value)) {
      flatten_into(value, key, out);
    } else {
      out.emplace_back(key, &value);
    }
  }
}

Result<json> parse_object(const std::string& line) {
  json object = KEDGE_TRY(parse_lenient(line));
  if (!object.is_object()) {
    return fail(ErrorKind::Usage, "a line of history is a JSON object");
  }
  return object;
}

std::int64_t time_of(const json& row, std::int64_t now_us) {
  const auto found = row.find("_timestamp");
  const double seconds = found != row.end() && found->is_number() ? found->get<double>() : 0;
  return seconds > 0 && seconds < 1e12 ? static_cast<std::int64_t>(seconds * kSecond_us) : now_us;
}

std::vector<double> numbers_of(const json& list) {
  std::vector<double> numbers;
  for (const json& item : list) {
    numbers.push_back(item.is_number() ? item.get<double>()
                                       : std::numeric_limits<double>::quiet_NaN());
  }
  return numbers;
}

// Bins are edges, or {min, size, count} of equal ones.
json edges_of(const json& media) {
  const auto bins = media.find("bins");
  if (bins != media.end() && bins->is_array()) {
    return *bins;
  }
  const auto packed = media.find("packedBins");
  json edges = json::array();
  if (packed != media.end() && packed->is_object()) {
    const double min = packed->value("min", 0.0);
    const double size = packed->value("size", 1.0);
    constexpr std::int64_t kMaxBins = 100'000;
    const std::int64_t count = std::min(packed->value("count", std::int64_t{0}), kMaxBins);
    for (std::int64_t i = 0; i <= count; ++i) {
      edges.push_back(min + size * static_cast<double>(i));
    }
  }
  return edges;
}

store::Record make_record(std::string type, const std::string& key, json body) {
  return {.type = std::move(type), .key = key, .body = std::move(body)};
}

std::vector<store::Record> make_images(const std::string& key, const json& media) {
  std::vector<store::Record> records;
  const json& names = media.contains("filenames") ? media["filenames"] : json::array();
  for (std::size_t i = 0; i < names.size(); ++i) {
    json body = {{"name", key}, {"path", names[i]}};
    if (media.contains("captions") && media["captions"].is_array() &&
        i < media["captions"].size()) {
      body["caption"] = media["captions"][i];
    }
    records.push_back(
        make_record("image", names.size() == 1 ? key : fmt::format("{}/{}", key, i), body));
  }
  return records;
}

}  // namespace

bool is_media(const json& value) {
  const auto type = value.is_object() ? value.find("_type") : value.end();
  return value.is_object() && type != value.end() && type->is_string();
}

FlatValues flatten(const json& object) {
  FlatValues out;
  flatten_into(object, "", out);
  return out;
}

std::vector<store::Record> make_records(const std::string& key, const json& media) {
  const std::string type = media["_type"].get<std::string>();
  if (type == "histogram") {
    return {make_record("histogram", key,
                        {{"key", key},
                         {"edges", edges_of(media)},
                         {"counts", numbers_of(media.value("values", json::array()))}})};
  }
  if (type == "images/separated") {
    return make_images(key, media);
  }
  json body = media;
  body["key"] = key;
  if (type == "image-file") {
    return {make_record("image", key, std::move(body))};
  }
  if (type == "table-file" || type == "html-file") {
    // The page reads the file: its bytes may come later than this line.
    return {make_record(type.substr(0, type.find('-')), key, std::move(body))};
  }
  return {make_record(type, key, std::move(body))};
}

Result<store::HistoryRow> parse_history(std::string line, std::int64_t fallback_step,
                                        std::int64_t now_us) {
  const json object = KEDGE_TRY(parse_object(line));
  store::HistoryRow row{.text = std::move(line), .step = fallback_step};
  row.time_us = time_of(object, now_us);
  const auto step = object.find("_step");
  if (step != object.end() && step->is_number()) {
    row.step = step->get<std::int64_t>();
  }
  for (const auto& [key, value] : flatten(object)) {
    if (key.starts_with('_')) {
      continue;
    }
    if (value->is_number() || value->is_boolean()) {
      row.values.emplace_back(
          key, value->is_boolean() ? (value->get<bool>() ? 1.0 : 0.0) : value->get<double>());
    } else if (is_media(*value)) {
      for (store::Record& record : make_records(key, *value)) {
        record.step = row.step;
        record.time_us = row.time_us;
        row.records.push_back(std::move(record));
      }
    }
  }
  return row;
}

Result<store::HistoryRow> parse_event(std::string line, std::int64_t now_us) {
  constexpr std::string_view kPrefix = "system.";
  const json object = KEDGE_TRY(parse_object(line));
  store::HistoryRow row{.text = std::move(line)};
  row.time_us = time_of(object, now_us);
  for (const auto& [key, value] : flatten(object)) {
    if (!key.starts_with('_') && value->is_number()) {
      row.values.emplace_back(key.starts_with(kPrefix) ? key.substr(kPrefix.size()) : key,
                              value->get<double>());
    }
  }
  return row;
}

}  // namespace kedge::wandb
