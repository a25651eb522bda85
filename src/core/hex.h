// Bytes as two digits each, 0-9 and a-f.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kedge {

std::string render_hex(std::string_view bytes);

// Nothing for what is no such text; capitals are read too.
std::optional<std::string> parse_hex(std::string_view text);

}  // namespace kedge
