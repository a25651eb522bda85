#include "core/redact.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kedge {
namespace {

constexpr std::string_view kHidden = "<redacted>";

// What a name says of its value: nothing, that it is a secret, or that it is one if it looks random
// ("token: 5" is none).
enum class Claim : std::uint8_t { None, IfRandom, Secret };

struct Shape {
  std::string_view prefix;
  std::size_t min_length;  // of what follows
};

// Tokens that say whose they are.
constexpr auto kShapes = std::to_array<Shape>({{"kedge_", 32},
                                               {"hf_", 30},
                                               {"sk-", 20},
                                               {"ghp_", 30},
                                               {"gho_", 30},
                                               {"ghs_", 30},
                                               {"github_pat_", 22},
                                               {"glpat-", 20},
                                               {"xoxb-", 20},
                                               {"xoxp-", 20},
                                               {"AKIA", 16},
                                               {"wandb_v1_", 40},
                                               {"local-", 40},
                                               {"Bearer ", 16}});

bool is_letter_or_digit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool is_in_token(char c) {
  return is_letter_or_digit(c) || c == '_' || c == '-';
}

bool is_in_name(char c) {
  return is_in_token(c) || c == '.';
}

bool ends_value(char c) {
  return c == ' ' || c == '\t' || c == '"' || c == '\'' || c == ',' || c == ';' || c == ')' ||
         c == '}' || c == ']' || c == '&';
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, word) != words.end();
}

// Takes the last word of a name off it.
std::string take_word(std::string& name) {
  const std::size_t at = name.find_last_of("._-:/");
  std::string word = at == std::string::npos ? name : name.substr(at + 1);
  name.resize(at == std::string::npos ? 0 : at);
  return word;
}

// A "key" alone is what sorts and finds things; an "api_key" is a secret.
Claim claim_of(std::string_view text) {
  constexpr std::array<std::string_view, 6> kSecrets = {"password", "passwd", "passphrase",
                                                        "secret",   "apikey", "credentials"};
  constexpr std::array<std::string_view, 7> kKeys = {"api",     "access",  "secret", "private",
                                                     "account", "signing", "auth"};
  std::string name = to_lower(text);
  const std::string word = take_word(name);
  if (is_one_of(word, kSecrets) || (word == "key" && is_one_of(take_word(name), kKeys))) {
    return Claim::Secret;
  }
  return word == "token" || word == "pwd" || word == "credential" ? Claim::IfRandom : Claim::None;
}

bool looks_random(std::string_view value) {
  constexpr std::size_t kMinLength = 16;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return value.size() >= kMinLength && std::ranges::any_of(value, is_digit) &&
         std::ranges::any_of(value, [&](char c) { return is_letter_or_digit(c) && !is_digit(c); });
}

bool is_secret(Claim claim, std::string_view value) {
  constexpr std::array<std::string_view, 6> kNothing = {"",     "none",  "null",
                                                        "true", "false", kHidden};
  return claim != Claim::None && !is_one_of(to_lower(value), kNothing) &&
         (claim == Claim::Secret || looks_random(value));
}

// Parts of a text that are hidden from left to right, in one pass: texts come from clients.
class Hiding {
 public:
  explicit Hiding(std::string& text) : text_(text) {}

  void hide(std::size_t begin, std::size_t end) {
    result_.append(text_, done_, begin - done_).append(kHidden);
    done_ = end;
  }

  // Whether anything was hidden.
  bool finish() {
    if (result_.empty()) {
      return false;
    }
    result_.append(text_, done_);
    text_ = std::move(result_);
    return true;
  }

 private:
  std::string& text_;
  std::string result_;
  std::size_t done_ = 0;
};

bool hide_shape(std::string& text, const Shape& shape) {
  Hiding hiding(text);
  std::size_t at = text.find(shape.prefix);
  for (; at != std::string::npos; at = text.find(shape.prefix, at + 1)) {
    if (at > 0 && is_in_token(text[at - 1])) {
      continue;
    }
    const std::size_t begin = at + shape.prefix.size();
    const auto stop = std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                       text.end(), is_in_token);
    const auto end = static_cast<std::size_t>(stop - text.begin());
    if (end - begin >= shape.min_length) {
      hiding.hide(begin, end);
    }
  }
  return hiding.finish();
}

bool hide_shapes(std::string& text) {
  bool is_changed = false;
  for (const Shape& shape : kShapes) {
    is_changed = hide_shape(text, shape) || is_changed;
  }
  return is_changed;
}

// What stands before a "=" or ":", without quotes and blanks.
std::string_view name_before(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '"' || text[end - 1] == '\'')) {
    --end;
  }
  std::size_t begin = end;
  while (begin > 0 && is_in_name(text[begin - 1])) {
    --begin;
  }
  return text.substr(begin, end - begin);
}

// name=value, name: value, "name": "value"
bool hide_named(std::string& text) {
  Hiding hiding(text);
  std::size_t at = text.find_first_of("=:");
  while (at != std::string::npos) {
    std::size_t next = at + 1;
    const Claim claim = claim_of(name_before(text, at));
    const std::size_t begin = text.find_first_not_of(" \t\"'", next);
    if (claim != Claim::None && begin != std::string::npos) {
      const auto stop = std::ranges::find_if(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                             text.end(), ends_value);
      const auto end = static_cast<std::size_t>(stop - text.begin());
      if (is_secret(claim, std::string_view(text).substr(begin, end - begin))) {
        hiding.hide(begin, end);
        next = end;
      }
    }
    at = text.find_first_of("=:", next);
  }
  return hiding.finish();
}

// scheme://user:password@host
bool hide_passwords(std::string& text) {
  Hiding hiding(text);
  std::size_t scheme = text.find("://");
  for (; scheme != std::string::npos; scheme = text.find("://", scheme + 1)) {
    const std::size_t begin = scheme + 3;
    const std::size_t end = std::min(text.find_first_of("/ \t\"'", begin), text.size());
    const std::size_t at = std::string_view(text).substr(begin, end - begin).rfind('@');
    if (at != std::string_view::npos && at > 0) {
      hiding.hide(begin, begin + at);
    }
  }
  return hiding.finish();
}

void redact_values(nlohmann::json& values, const std::string& name,
                   std::vector<std::string>& hidden) {
  if (values.is_object()) {
    for (auto& [key, value] : values.items()) {
      redact_values(value, name.empty() ? key : fmt::format("{}.{}", name, key), hidden);
    }
  } else if (values.is_array()) {
    for (nlohmann::json& value : values) {
      redact_values(value, name, hidden);
    }
  } else if (values.is_string()) {
    auto& text = values.get_ref<std::string&>();
    if (is_secret(claim_of(name), text)) {
      text = kHidden;
      hidden.push_back(name);
    } else if (redact_text(text)) {
      hidden.push_back(name);
    }
  }
}

// Arguments are given to be read by a program: what only might be a secret is one here.
bool names_a_secret(std::string_view text) {
  std::string name = to_lower(text);
  return claim_of(text) != Claim::None || take_word(name) == "key";
}

}  // namespace

bool redact_text(std::string& text) {
  // Each looks at the whole text: a line may hold one of each.
  const bool has_password = hide_passwords(text);
  const bool has_shape = hide_shapes(text);
  return hide_named(text) || has_shape || has_password;
}

std::vector<std::string> redact_values(nlohmann::json& values) {
  std::vector<std::string> hidden;
  redact_values(values, "", hidden);
  return hidden;
}

std::vector<std::string> redact_arguments(std::vector<std::string> arguments) {
  bool hide_next = false;
  for (std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    if (hide_next && !argument.starts_with("-")) {
      argument = kHidden;
      hide_next = false;
      continue;
    }
    hide_next =
        equals == std::string::npos && argument.starts_with("-") && names_a_secret(argument);
    if (equals != std::string::npos &&
        names_a_secret(std::string_view(argument).substr(0, equals))) {
      argument.replace(equals + 1, std::string::npos, kHidden);
    }
    hide_passwords(argument);
  }
  return arguments;
}

}  // namespace kedge
