// Bytes as letters (RFC 4648), as other tools' clients write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kedge {

std::string encode_base64(std::string_view bytes);  // with padding

// Padded or not. Nothing for other letters and for lengths that no bytes have.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace kedge
