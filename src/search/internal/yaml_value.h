// Scalars, lists and maps of a YAML file as JSON, with the types of YAML 1.2's core schema.
#pragma once

#include <nlohmann/json.hpp>

namespace YAML {
class Node;
}

namespace kedge::search {

nlohmann::json json_of(const YAML::Node& node);

// A plain word of a file or a table cell, with its type: 1, 0.5, true, text.
nlohmann::json json_of_word(const std::string& text);

}  // namespace kedge::search
