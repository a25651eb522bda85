// Text from outside as the database takes it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"

namespace kedge::store {

// About the most text that one answer of the store holds: it is in memory as a whole.
inline constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20U;

// The same text; bytes that are not UTF-8, and zeros, which PostgreSQL refuses, become '?'.
std::string make_valid_text(std::string_view text);

// JSON for the database: bad UTF-8 is replaced; NaN and infinities, which JSON does not have, are
// the texts "NaN", "Infinity" and "-Infinity".
std::string render_json(const nlohmann::json& json);

// The number that such a text stands for.
std::optional<double> parse_nonfinite(std::string_view text);

// Corrupt when the database holds something else.
Result<nlohmann::json> parse_json(std::string_view text);

std::string compress(std::string_view bytes);
Result<std::string> decompress(std::string_view bytes);

}  // namespace kedge::store
