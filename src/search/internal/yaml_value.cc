#include "search/internal/yaml_value.h"

#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "core/plain_scalar.h"

namespace kedge::search {
nlohmann::json json_of(const YAML::Node& node) {
  if (node.IsScalar()) {
    return node.Tag() == "!" ? nlohmann::json(node.Scalar()) : parse_plain_scalar(node.Scalar());
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
