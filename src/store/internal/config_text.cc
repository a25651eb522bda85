#include "store/internal/config_text.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/result.h"
#include "store/internal/text.h"

namespace kedge::store {
namespace {

// Deeper ones are left to the document's own flattening, which cuts them.
constexpr int kMaxTextDepth = 12;

void skip_space(std::string_view text, std::size_t& at) {
  while (at < text.size() &&
         (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r')) {
    ++at;
  }
}

bool take(std::string_view text, std::size_t& at, char wanted) {
  skip_space(text, at);
  if (at >= text.size() || text[at] != wanted) {
    return false;
  }
  ++at;
  return true;
}

// Behind the closing quote.
bool skip_text(std::string_view text, std::size_t& at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    at += text[at] == '\\' ? 1 : 0;
  }
  return at++ < text.size();
}

bool skip_list(std::string_view text, std::size_t& at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      if (!skip_text(text, at)) {
        return false;
      }
      continue;
    }
    ++at;
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (depth == 0) {
      return true;
    }
  }
  return false;
}

// A text, a list, a number or a word; the value itself is not looked at.
bool skip_value(std::string_view text, std::size_t& at) {
  if (text[at] == '"') {
    return skip_text(text, at);
  }
  if (text[at] == '[') {
    return skip_list(text, at);
  }
  const std::size_t end = text.find_first_of(",}] \n\t\r", at);
  const bool is_there = end != std::string_view::npos && end > at;
  at = end;
  return is_there;
}

}  // namespace

const KeyedValue* ConfigTextReader::find_or_parse(std::string_view key, std::string_view value) {
  name_.assign(path_).append(key);
  const std::size_t key_size = name_.size();
  name_.append(1, '\0').append(value);
  if (const auto found = known_.find(std::string_view(name_)); found != known_.end()) {
    return found->second;
  }
  const auto json = parse_json(value);
  if (!json) {
    return nullptr;
  }
  const KeyId id = keys_.add(std::string_view(name_).substr(0, key_size));
  return known_.emplace(name_, pool_.add(id, *json)).first->second;
}

bool ConfigTextReader::read_member(std::string_view text, std::size_t& at, int depth) {
  if (!take(text, at, '"')) {
    return false;
  }
  const std::size_t end = text.find_first_of("\"\\", at);
  if (end == std::string_view::npos || text[end] == '\\' || end == at) {
    return false;
  }
  const std::string_view key = text.substr(at, end - at);
  at = end + 1;
  if (!take(text, at, ':')) {
    return false;
  }
  skip_space(text, at);
  if (at >= text.size()) {
    return false;
  }
  if (text[at] == '{') {
    const std::size_t before = path_.size();
    path_.append(key).append(1, '.');
    const bool is_read = read_object(text, at, depth + 1);
    path_.resize(before);
    return is_read;
  }
  const std::size_t begin = at;
  if (!skip_value(text, at)) {
    return false;
  }
  values_.push_back(find_or_parse(key, text.substr(begin, at - begin)));
  return values_.back() != nullptr;
}

bool ConfigTextReader::read_object(std::string_view text, std::size_t& at, int depth) {
  if (depth > kMaxTextDepth || !take(text, at, '{')) {
    return false;
  }
  if (take(text, at, '}')) {
    return true;
  }
  do {
    if (!read_member(text, at, depth)) {
      return false;
    }
  } while (take(text, at, ','));
  return take(text, at, '}');
}

Result<ConfigValues> ConfigTextReader::read(std::string_view text) {
  values_.clear();
  path_.clear();
  std::size_t at = 0;
  const bool is_read = read_object(text, at, 0);
  skip_space(text, at);
  if (!is_read || at != text.size()) {
    return flatten_config(KEDGE_TRY(parse_json(text)), keys_, pool_);
  }
  ConfigValues values = values_;  // of exactly its size
  sort_values(values);
  return values;
}

}  // namespace kedge::store
