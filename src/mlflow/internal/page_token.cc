#include "mlflow/internal/page_token.h"

#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base64.h"

namespace kedge::mlflow {
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
