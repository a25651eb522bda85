// JSON as clients write it inside of texts: NaN, Infinity and -Infinity stand bare.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"

namespace kedge::wandb {

// Usage when it is no JSON or nested too deeply. NaN and infinities become such numbers.
Result<nlohmann::json> parse_lenient(std::string_view text);

// The same back: numbers that JSON does not have stand bare.
std::string render_lenient(const nlohmann::json& json);

// For answers that must be JSON: such numbers become "NaN", "Infinity" and "-Infinity".
nlohmann::json make_strict(const nlohmann::json& json);

}  // namespace kedge::wandb
