#include "wandb/internal/lenient_json.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/api.h"
#include "store/run.h"

namespace kedge::wandb {
namespace {

using nlohmann::json;

// What a bare word becomes until the text is parsed: nobody logs such texts.
constexpr std::string_view kMark = "\\u0001kedge:";

constexpr std::array<std::string_view, 3> kWords = {"-Infinity", "Infinity", "NaN"};

double number_of(std::string_view word) {
  if (word == "NaN") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double infinity = std::numeric_limits<double>::infinity();
  return word.starts_with('-') ? -infinity : infinity;
}

// Where the string that begins at `at` ends, behind its quote.
std::size_t skip_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    at += text[at] == '\\' ? 1 : 0;
  }
  return std::min(at + 1, text.size());
}

std::string_view word_at(std::string_view text, std::size_t at) {
  for (const std::string_view word : kWords) {
    if (text.substr(at).starts_with(word)) {
      return word;
    }
  }
  return {};
}

// Quotes the bare words; false: there were none.
bool quote_words(std::string_view text, std::string& out) {
  bool has_any = false;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      const std::size_t end = skip_string(text, at);
      out += text.substr(at, end - at);
      at = end;
    } else if (const std::string_view word = word_at(text, at); !word.empty()) {
      out += fmt::format("\"{}{}\"", kMark, word);
      at += word.size();
      has_any = true;
    } else {
      out += text[at++];
    }
  }
  return has_any;
}

void unquote_words(json& value) {
  constexpr std::string_view kPlainMark = "\x01kedge:";
  if (value.is_structured()) {
    for (json& item : value) {
      unquote_words(item);
    }
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text.starts_with(kPlainMark)) {
      value = number_of(std::string_view(text).substr(kPlainMark.size()));
    }
  }
}

void append(std::string& out, const json& value) {
  if (value.is_object()) {
    out += '{';
    bool is_first = true;
    for (const auto& [name, item] : value.items()) {
      out += is_first ? "" : ",";
      is_first = false;
      out += json(name).dump(-1, ' ', false, json::error_handler_t::replace) + ":";
      append(out, item);
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (std::size_t i = 0; i < value.size(); ++i) {
      out += i == 0 ? "" : ",";
      append(out, value[i]);
    }
    out += ']';
  } else if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    const double number = value.get<double>();
    out += std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
  } else {
    out += value.dump(-1, ' ', false, json::error_handler_t::replace);
  }
}

}  // namespace

Result<json> parse_lenient(std::string_view text) {
  std::string quoted;
  if (!quote_words(text, quoted)) {
    return server::parse_json(text);
  }
  json value = KEDGE_TRY(server::parse_json(quoted));
  unquote_words(value);
  return value;
}

std::string render_lenient(const json& value) {
  std::string out;
  append(out, value);
  return out;
}

json make_strict(const json& value) {
  json strict = value;
  if (value.is_structured()) {
    for (json& item : strict) {
      item = make_strict(item);
    }
  } else if (value.is_number_float()) {
    strict = store::render_number(value.get<double>());
  }
  return strict;
}

}  // namespace kedge::wandb
