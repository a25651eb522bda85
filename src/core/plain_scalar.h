// A word without quotes, with its type: what YAML 1.2's core schema makes of it, as JSON. Numbers
// that JSON lacks (nan, inf) stay texts.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace kedge {

nlohmann::json parse_plain_scalar(const std::string& text);

}  // namespace kedge
