// One field's value: read from a YAML node with its type and limits checked, and shown again.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "config/section.h"
#include "core/result.h"

namespace YAML {
class Node;
}

namespace kedge::config {

// The error's message says what was expected and what was found; the caller adds where.
Result<void> set_value(const Field& field, const YAML::Node& node);

// "a number of at least 0", "one of auto, cuda, cpu": for messages and the reference page.
std::string describe_type(const Field& field);

nlohmann::json value_as_json(const Field& field);

// As it would be written in a YAML file, on one line; reading it back gives the same value.
std::string value_as_yaml(const Field& field);

}  // namespace kedge::config
