#include "core/url.h"

#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/hex.h"

namespace kedge {
namespace {

std::string encode_all_but(std::string_view kept, std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = std::isalnum(byte) != 0 || kept.find(c) != std::string_view::npos;
    encoded += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return encoded;
}

}  // namespace

std::string encode_url_part(std::string_view text) {
  return encode_all_but("-._~", text);
}

std::string encode_url_path(std::string_view path) {
  return encode_all_but("-._~/", path);
}

DecodedUrl decode_url(std::string_view text) {
  DecodedUrl decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto code = text[i] == '%' ? parse_hex(text.substr(i + 1, 2)) : std::nullopt;
    if (code && code->size() == 1) {
      decoded.text += *code;
      i += 2;
    } else {
      decoded.text += text[i];
      decoded.is_sound = decoded.is_sound && text[i] != '%';
    }
  }
  return decoded;
}

}  // namespace kedge
