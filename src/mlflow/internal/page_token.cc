#include "mlflow/internal/page_token.h"

#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kedge::mlflow {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string encode_base64(std::string_view bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const auto byte = i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U;
      group = (group << 8U) | byte;
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k <= bytes.size() ? kAlphabet[(group >> (18U - 6U * k)) & 63U] : '=';
    }
  }
  return text;
}

std::optional<std::string> decode_base64(std::string_view text) {
  while (text.ends_with('=')) {
    text.remove_suffix(1);
  }
  std::string bytes;
  std::uint32_t group = 0;
  unsigned bits = 0;
  for (const char c : text) {
    const auto digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) {
      return std::nullopt;
    }
    group = (group << 6U) | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>((group >> bits) & 255U);
    }
  }
  return bytes;
}

std::string make_page_token(std::size_t offset) {
  return encode_base64(fmt::format("{{\"offset\": {}}}", offset));
}

Outcome<std::size_t> parse_page_token(std::string_view token) {
  if (token.empty()) {
    return 0;
  }
  const auto text = decode_base64(token);
  if (!text) {
    return refuse("Invalid page token, could not base64-decode");
  }
  const auto parsed = nlohmann::json::parse(*text, nullptr, false);
  const auto found = parsed.is_object() ? parsed.find("offset") : parsed.end();
  if (!parsed.is_object() || found == parsed.end() || !found->is_number_integer() ||
      found->get<std::int64_t>() < 0) {
    return refuse(fmt::format("Invalid page token, parsed value={}", *text));
  }
  return static_cast<std::size_t>(found->get<std::int64_t>());
}

}  // namespace kedge::mlflow
