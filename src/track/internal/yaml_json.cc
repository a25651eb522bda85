#include "track/internal/yaml_json.h"

#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "core/plain_scalar.h"
#include "core/result.h"

namespace kedge::track {
namespace {

nlohmann::json to_json(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      // "!": in quotes.
      return node.Tag() == "!" ? nlohmann::json(node.Scalar()) : parse_plain_scalar(node.Scalar());
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
