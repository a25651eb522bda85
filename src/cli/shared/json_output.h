// What `--json` prints.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace kedge::cli {

// Indented, with a line end; bytes that are no UTF-8 are replaced, so that it is always JSON.
void print_json(const nlohmann::json& json);

}  // namespace kedge::cli
