// A YAML file as JSON, for programs that read no YAML.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"

namespace kedge::track {

// Plain scalars get their type of YAML 1.2's core schema; numbers that JSON lacks stay text.
Result<nlohmann::json> yaml_to_json(const std::string& text);

}  // namespace kedge::track
