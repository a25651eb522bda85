// Reading the parts of a tokenizer.json: each fact with an error that names it.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/result.h"

namespace kedge::data {

// "ByteLevel", from {"type": "ByteLevel"}.
inline Result<std::string> type_of(const nlohmann::json& json, std::string_view what) {
  const auto type = json.is_object() ? json.find("type") : json.end();
  if (!json.is_object() || type == json.end() || !type->is_string()) {
    return fail(ErrorKind::Corrupt, fmt::format("{}: an object without a \"type\"", what));
  }
  return type->get<std::string>();
}

// What stands there in place of text or flags that are missing or null is the fallback.
inline Result<std::string> text_of(const nlohmann::json& json, const char* key,
                                   std::string fallback = {}) {
  const auto value = json.find(key);
  if (value == json.end() || value->is_null()) {
    return fallback;
  }
  if (!value->is_string()) {
    return fail(ErrorKind::Corrupt, fmt::format("\"{}\" is {}, not text", key, value->dump()));
  }
  return value->get<std::string>();
}

inline Result<bool> flag_of(const nlohmann::json& json, const char* key, bool fallback) {
  const auto value = json.find(key);
  if (value == json.end() || value->is_null()) {
    return fallback;
  }
  if (!value->is_boolean()) {
    return fail(ErrorKind::Corrupt,
                fmt::format("\"{}\" is {}, not true or false", key, value->dump()));
  }
  return value->get<bool>();
}

inline std::unexpected<Error> unknown_part(std::string_view what, std::string_view name) {
  return fail(ErrorKind::Usage, fmt::format("{} '{}' is not supported", what, name),
              "kedge refuses what it would have to guess: the ids would not be the model's");
}

// The expression of {"pattern": {"Regex": "..."}} or of {"String": "..."}, as an expression.
Result<std::string> expression_of(const nlohmann::json& json);

}  // namespace kedge::data
