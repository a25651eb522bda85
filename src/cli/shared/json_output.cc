#include "cli/shared/json_output.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kedge::cli {

void print_json(const nlohmann::json& json) {
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace kedge::cli
