#include "search/internal/yaml_value.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <system_error>

#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

namespace kedge::search {
namespace {

template <typename T>
bool parse_whole(const std::string& text, T& value) {
  const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(begin, end, value);
  return parsed.ec == std::errc{} && parsed.ptr == end;
}

}  // namespace

nlohmann::json json_of_word(const std::string& text) {
  if (text == "true" || text == "True" || text == "TRUE") {
    return true;
  }
  if (text == "false" || text == "False" || text == "FALSE") {
    return false;
  }
  if (text == "null" || text == "Null" || text == "NULL" || text == "~") {
    return nullptr;
  }
  std::int64_t whole = 0;
  if (parse_whole(text, whole)) {
    return whole;
  }
  double real = 0;
  if (parse_whole(text, real) && std::isfinite(real)) {
    return real;
  }
  return text;
}

nlohmann::json json_of(const YAML::Node& node) {
  if (node.IsScalar()) {
    return node.Tag() == "!" ? nlohmann::json(node.Scalar()) : json_of_word(node.Scalar());
  }
  if (node.IsSequence()) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& entry : node) {
      list.push_back(json_of(entry));
    }
    return list;
  }
  if (node.IsMap()) {
    nlohmann::json map = nlohmann::json::object();
    for (const auto& entry : node) {
      map[entry.first.Scalar()] = json_of(entry.second);
    }
    return map;
  }
  return nullptr;
}

}  // namespace kedge::search
