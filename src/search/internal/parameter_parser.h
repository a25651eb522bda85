// `parameters:` of a sweep file as the parameters of a space.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "search/space.h"

namespace YAML {
class Node;
}

namespace kedge::search {

// Errors begin with "where:line: ".
Result<std::vector<Parameter>> parse_parameters(const YAML::Node& map, const std::string& where);

// A Usage error at a node's line; `where` names the text.
Error error_at(const YAML::Node& node, const std::string& where, const std::string& message,
               const std::string& hint = {});

}  // namespace kedge::search
