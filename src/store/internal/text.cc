#include "store/internal/text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>
#include <zstd.h>

#include "core/result.h"
#include "store/run.h"

namespace kedge::store {
namespace {

// The length of the UTF-8 character at the beginning, or 0 when there is none (RFC 3629).
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) {
    return first == 0 ? 0 : 1;
  }
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) {
    return 0;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) {
      return 0;
    }
  }
  const bool is_overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool is_surrogate = first == 0xED && byte(1) >= 0xA0;
  const bool is_too_large = first == 0xF4 && byte(1) >= 0x90;
  return is_overlong || is_surrogate || is_too_large ? 0 : length;
}

constexpr std::size_t kMaxUnpackedBytes = std::size_t{256} << 20U;

bool has_nonfinite(const nlohmann::json& json) {
  return json.is_number_float() ? !std::isfinite(json.get<double>())
                                : json.is_structured() && std::ranges::any_of(json, has_nonfinite);
}

void name_nonfinite(nlohmann::json& json) {
  if (json.is_structured()) {
    std::ranges::for_each(json, name_nonfinite);
  } else if (json.is_number_float()) {
    json = render_number(json.get<double>());
  }
}

}  // namespace

std::string make_valid_text(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0) {
      valid += '?';
      text.remove_prefix(1);
    } else {
      valid += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return valid;
}

std::string render_json(const nlohmann::json& json) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  if (!has_nonfinite(json)) {
    return json.dump(-1, ' ', false, kReplace);
  }
  nlohmann::json copy = json;
  name_nonfinite(copy);
  return copy.dump(-1, ' ', false, kReplace);
}

std::optional<double> parse_nonfinite(std::string_view text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "NaN") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return text == "Infinity"    ? std::optional(kInfinity)
         : text == "-Infinity" ? std::optional(-kInfinity)
                               : std::nullopt;
}

Result<nlohmann::json> parse_json(std::string_view text) {
  auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    return fail(ErrorKind::Corrupt, "the store holds a text that should be JSON and is not");
  }
  return json;
}

std::string compress(std::string_view bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 3);
  KEDGE_CHECK(ZSTD_isError(size) == 0, "zstd refuses to compress into enough room");
  packed.resize(size);
  return packed;
}

Result<std::string> decompress(std::string_view bytes) {
  const auto size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size > kMaxUnpackedBytes) {  // also when it is not known
    return fail(ErrorKind::Corrupt, "the store holds a packed value without a sane size");
  }
  std::string text(static_cast<std::size_t>(size), '\0');
  const std::size_t got = ZSTD_decompress(text.data(), text.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(got) != 0 || got != text.size()) {
    return fail(ErrorKind::Corrupt, "the store holds a packed value that does not unpack");
  }
  return text;
}

}  // namespace kedge::store
