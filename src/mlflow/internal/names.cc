#include "mlflow/internal/names.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/utf8.h"
#include "mlflow/internal/fields.h"

namespace kedge::mlflow {
namespace {

bool is_ascii_word(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

struct Block {
  char32_t first;
  char32_t last;
};

// Beyond ASCII, Python's \w is "a letter or digit of any script". The C library's tables depend on
// the locale, so here are the blocks that hold no letters: punctuation, arrows, mathematics, boxes,
// dingbats, symbols and pictures.
constexpr auto kNoLetters = std::to_array<Block>({
    {0x80, 0xA9},       {0xAB, 0xB1},       {0xB4, 0xB4},        {0xB6, 0xB8},     {0xBB, 0xBB},
    {0xBF, 0xBF},       {0xD7, 0xD7},       {0xF7, 0xF7},        {0x300, 0x36F},   {0x2000, 0x206F},
    {0x20A0, 0x20FF},   {0x2190, 0x245F},   {0x2500, 0x2775},    {0x2794, 0x2BFF}, {0x3000, 0x3004},
    {0x3008, 0x3020},   {0xD800, 0xF8FF},   {0xFE00, 0xFE6F},    {0xFF00, 0xFF0F}, {0xFFF0, 0xFFFF},
    {0x1F000, 0x1F0FF}, {0x1F200, 0x1FAFF}, {0xE0000, 0x10FFFF},
});

bool is_word_character(char32_t c) {
  if (c < 0x80) {
    return is_ascii_word(c);
  }
  return std::ranges::none_of(
      kNoLetters, [&](const Block& block) { return c >= block.first && c <= block.last; });
}

bool is_key_character(char32_t c) {
  return is_word_character(c) || c == '/' || c == '.' || c == '-' || c == ' ' || c == ':';
}

// As POSIX paths are: "a//b", "a/./b" and "a/c/../b" are all "a/b".
std::string normalized(std::string_view path) {
  const std::string root = path.starts_with("//") && !path.starts_with("///") ? "//"
                           : path.starts_with('/')                            ? "/"
                                                                              : "";
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const auto end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else if (part == ".." ? root.empty() : !part.empty() && part != ".") {
      parts.push_back(part);
    }
  }
  const std::string joined = root + fmt::format("{}", fmt::join(parts, "/"));
  return joined.empty() ? "." : joined;
}

std::unexpected<Fault> bad_value(std::string_view value, std::string_view path,
                                 std::string_view why) {
  return std::unexpected(wrong_value(std::string(path), nlohmann::json(value), why));
}

}  // namespace

Outcome<void> check_key(std::string_view key, std::string_view path) {
  std::string_view rest = key;
  while (!rest.empty()) {
    if (!is_key_character(take_character(rest))) {
      return bad_value(key, path,
                       "Names may only contain alphanumerics, underscores (_), dashes (-), "
                       "periods (.), spaces ( ), colon(:) and slashes (/).");
    }
  }
  const std::string resolved = normalized(key);
  if (resolved != key || key == "." || key.starts_with("..") || key.starts_with('/')) {
    return bad_value(
        key, path,
        fmt::format("Names may be treated as files in certain cases, and must not resolve to "
                    "other names when treated as such. This name would resolve to '{}'",
                    resolved));
  }
  return {};
}

Outcome<void> check_length(std::string_view text, std::size_t limit, std::string_view what) {
  if (text.size() > limit && count_characters(text) > limit) {
    return refuse(fmt::format("'{}' exceeds the maximum length of {} characters", what, limit));
  }
  return {};
}

std::string cut(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) {
    return std::string(text);
  }
  std::string_view rest = text;
  for (std::size_t count = 0; count < limit && !rest.empty(); ++count) {
    take_character(rest);
  }
  return std::string(text.substr(0, text.size() - rest.size()));
}

Outcome<void> check_run_id(std::string_view id) {
  const auto is_allowed = [](char c) {
    return is_ascii_word(static_cast<unsigned char>(c)) || c == '-';
  };
  // Ours may have points in them.
  const bool is_good = !id.empty() && id.size() <= 256 && id[0] != '-' && id[0] != '_' &&
                       std::ranges::all_of(id, [&](char c) { return is_allowed(c) || c == '.'; });
  if (!is_good) {
    return refuse(fmt::format("Invalid value {} for parameter 'run_id' supplied.",
                              nlohmann::json(id).dump()));
  }
  return {};
}

Outcome<void> check_experiment_name(std::string_view name) {
  const bool is_blank =
      std::ranges::all_of(name, [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); });
  if (is_blank) {
    return refuse(fmt::format("Invalid experiment name: '{}'", name));
  }
  return check_length(name, 500, "name");
}

Outcome<void> check_model_name(std::string_view name) {
  const bool is_blank =
      std::ranges::all_of(name, [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); });
  if (is_blank) {
    return refuse("Registered model name cannot be empty.");
  }
  if (name.find_first_of("/:") != std::string_view::npos || name == "." || name == "..") {
    return refuse(
        fmt::format("Invalid name: '{}'. Registered model name cannot be '.' or '..' or contain "
                    "'/' or ':' characters.",
                    name));
  }
  return check_length(name, 256, "name");
}

Outcome<void> check_logged_model_name(std::string_view name) {
  if (name.empty() || name.find_first_of("/:.%\"'") != std::string_view::npos) {
    return refuse(
        fmt::format("Invalid model name ('{}') provided. Model name must be a non-empty "
                    "string and cannot contain the following characters: ('/', ':', '.', "
                    "'%', '\"', \"'\")",
                    name));
  }
  return {};
}

Outcome<void> check_alias(std::string_view alias) {
  std::string_view rest = alias;
  bool is_good = !alias.empty();
  while (!rest.empty()) {
    const char32_t c = take_character(rest);
    is_good = is_good && (is_word_character(c) || c == '-');
  }
  if (!is_good) {
    return refuse(
        fmt::format("Invalid alias name: '{}'. Names may only contain alphanumerics, "
                    "underscores (_), and dashes (-).",
                    alias));
  }
  KEDGE_TRY(check_length(alias, 255, "Registered model alias name"));
  std::string small(alias);
  std::ranges::transform(small, small.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (small == "latest") {
    return refuse("'latest' alias name (case insensitive) is reserved.");
  }
  const bool is_version = small.size() > 1 && small[0] == 'v' &&
                          std::ranges::all_of(std::string_view(small).substr(1),
                                              [](char c) { return c >= '0' && c <= '9'; });
  if (is_version) {
    return refuse(fmt::format("Version alias name '{}' is reserved.", alias));
  }
  return {};
}

}  // namespace kedge::mlflow
