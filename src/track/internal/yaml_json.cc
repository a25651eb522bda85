#include "track/internal/yaml_json.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "core/result.h"

namespace kedge::track {
namespace {

template <typename T>
bool parse_whole(const std::string& text, T& value) {
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc{} && parsed.ptr == end;
}

nlohmann::json scalar_to_json(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") {  // in quotes
    return text;
  }
  if (text == "true" || text == "True" || text == "TRUE") {
    return true;
  }
  if (text == "false" || text == "False" || text == "FALSE") {
    return false;
  }
  std::int64_t whole = 0;
  if (parse_whole(text, whole)) {
    return whole;
  }
  double real = 0;
  // from_chars also takes "nan" and "inf", which are text in YAML.
  if (parse_whole(text, real) && std::isfinite(real)) {
    return real;
  }
  return text;
}

nlohmann::json to_json(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return scalar_to_json(node);
    case YAML::NodeType::Sequence: {
      nlohmann::json list = nlohmann::json::array();
      for (const auto& entry : node) {
        list.push_back(to_json(entry));
      }
      return list;
    }
    case YAML::NodeType::Map: {
      nlohmann::json map = nlohmann::json::object();
      for (const auto& entry : node) {
        map[entry.first.Scalar()] = to_json(entry.second);
      }
      return map;
    }
    case YAML::NodeType::Undefined:
    case YAML::NodeType::Null:
      break;
  }
  return nullptr;
}

}  // namespace

Result<nlohmann::json> yaml_to_json(const std::string& text) {
  try {
    return Result<nlohmann::json>(std::in_place, to_json(YAML::Load(text)));
  } catch (const YAML::Exception& exception) {
    return fail(ErrorKind::Corrupt, fmt::format("not YAML: {}", exception.what()));
  }
}

}  // namespace kedge::track
