#include "core/plain_scalar.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <system_error>

#include <nlohmann/json.hpp>

namespace kedge {
namespace {

template <typename T>
bool parse_whole(const std::string& text, T& value) {
  const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(begin, end, value);
  return parsed.ec == std::errc{} && parsed.ptr == end;
}

}  // namespace

nlohmann::json parse_plain_scalar(const std::string& text) {
  if (text == "true" || text == "True" || text == "TRUE") {
    return true;
  }
  if (text == "false" || text == "False" || text == "FALSE") {
    return false;
  }
  if (text == "null" || text == "Null" || text == "NULL" || text == "~") {
    return nullptr;
  }
  std::int64_t whole = 0;
  if (parse_whole(text, whole)) {
    return whole;
  }
  double real = 0;
  // from_chars also takes "nan" and "inf".
  if (parse_whole(text, real) && std::isfinite(real)) {
    return real;
  }
  return text;
}

}  // namespace kedge
