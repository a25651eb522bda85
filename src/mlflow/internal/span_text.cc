#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/python_text.h"
#include "mlflow/internal/traces.h"

namespace kedge::mlflow {
namespace {

using nlohmann::json;

// An AnyValue of OpenTelemetry as plain JSON.
json plain_value(const json& attribute) {
  const auto value = attribute.find("value");
  if (value == attribute.end()) {
    return nullptr;
  }
  for (const char* name :
       {"string_value", "bool_value", "int_value", "double_value", "bytes_value"}) {
    if (value->contains(name)) {
      return value->at(name);
    }
  }
  if (value->contains("array_value")) {
    json list = json::array();
    for (const json& entry : value->at("array_value").value("values", json::array())) {
      list.push_back(plain_value({{"value", entry}}));
    }
    return list;
  }
  if (value->contains("kvlist_value")) {
    json object = json::object();
    for (const json& entry : value->at("kvlist_value").value("values", json::array())) {
      object[entry.value("key", "")] = plain_value(entry);
    }
    return object;
  }
  return nullptr;
}

// As Python's json.dumps writes it, with its spaces.
std::string python_json(const json& value) {
  std::vector<std::string> parts;
  if (value.is_array()) {
    for (const json& entry : value) {
      parts.push_back(python_json(entry));
    }
    return fmt::format("[{}]", fmt::join(parts, ", "));
  }
  if (value.is_object()) {
    for (const auto& [key, entry] : value.items()) {
      parts.push_back(fmt::format("{}: {}", json(key).dump(-1, ' ', true), python_json(entry)));
    }
    return fmt::format("{{{}}}", fmt::join(parts, ", "));
  }
  return value.is_number_float() ? python_float(value.get<double>()) : value.dump(-1, ' ', true);
}

json attributes_of(const json& body, bool is_text) {
  json object = json::object();
  for (const json& attribute : body.value("attributes", json::array())) {
    const json value = plain_value(attribute);
    object[attribute.value("key", "")] = is_text ? json(python_json(value)) : value;
  }
  return object;
}

}  // namespace

json render_span(const json& body) {
  json events = json::array();
  for (const json& event : body.value("events", json::array())) {
    events.push_back({{"name", event.value("name", "")},
                      {"time_unix_nano", event.value("time_unix_nano", std::uint64_t{0})},
                      {"attributes", attributes_of(event, false)}});
  }
  json links = json::array();
  for (const json& link : body.value("links", json::array())) {
    links.push_back({{"trace_id", link.value("trace_id", "")},
                     {"span_id", link.value("span_id", "")},
                     {"attributes", attributes_of(link, false)}});
  }
  const json status = body.value("status", json::object());
  return {{"trace_id", body.value("trace_id", "")},
          {"span_id", body.value("span_id", "")},
          {"parent_span_id", body.value("parent_span_id", json())},
          {"name", body.value("name", "")},
          {"start_time_unix_nano", body.value("start_time_unix_nano", std::uint64_t{0})},
          {"end_time_unix_nano", body.value("end_time_unix_nano", std::uint64_t{0})},
          {"events", std::move(events)},
          {"status",
           {{"code", status.value("code", "STATUS_CODE_UNSET")},
            {"message", status.value("message", "")}}},
          {"attributes", attributes_of(body, true)},
          {"links", std::move(links)}};
}

}  // namespace kedge::mlflow
