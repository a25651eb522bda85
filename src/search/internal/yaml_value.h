// Scalars, lists and maps of a YAML file as JSON, with the types of YAML 1.2's core schema.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace YAML {
class Node;
}

namespace kedge::search {

nlohmann::json json_of(const YAML::Node& node);

}  // namespace kedge::search
