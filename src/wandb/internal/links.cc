#include "wandb/internal/links.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/base64.h"
#include "core/random_text.h"
#include "wandb/internal/encoding.h"

namespace kedge::wandb {
namespace {

using nlohmann::json;

constexpr const char* kSetting = "wandb.link_key";

std::string to_url_letters(std::string text) {
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  std::erase(text, '=');
  return text;
}

std::string from_url_letters(std::string text) {
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  return text;
}

// As long for a right guess of the first letters as for a wrong one.
bool is_equal(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

}  // namespace

Result<Links> Links::open(store::Store& store) {
  return Links(KEDGE_TRY(store.keep_setting(kSetting, make_random_hex(32))));
}

std::string Links::sign(const json& meaning, std::int64_t expires_us) const {
  const std::string text = to_url_letters(encode_base64(json::array({expires_us, meaning}).dump()));
  return text + "." + hmac_sha256_hex(key_, text);
}

Result<json> Links::parse(std::string_view token, std::int64_t now_us) const {
  const auto dot = token.rfind('.');
  const std::string_view text = token.substr(0, dot);
  if (dot == std::string_view::npos ||
      !is_equal(token.substr(dot + 1), hmac_sha256_hex(key_, text))) {
    return fail(ErrorKind::NotFound, "this server has not made this address");
  }
  // It is what sign() wrote: it can be parsed.
  json parts =
      json::parse(decode_base64(from_url_letters(std::string(text))).value_or("[0, null]"));
  if (parts[0].get<std::int64_t>() < now_us) {
    return fail(ErrorKind::NotFound, "this address was for a while, which is over",
                "ask for another one");
  }
  return std::move(parts[1]);
}

}  // namespace kedge::wandb
