#include "track/internal/redact.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::track {
namespace {

constexpr std::string_view kHidden = "<redacted>";

// Decided by the last word of a name: model.key_size is no secret, server.api_key is.
bool names_a_secret(std::string_view name) {
  constexpr std::array<std::string_view, 10> kWords = {
      "key", "apikey",     "token",  "password",   "passwd",
      "pwd", "passphrase", "secret", "credential", "credentials"};
  const std::size_t at = name.find_last_of("._-:/");
  std::string word(at == std::string_view::npos ? name : name.substr(at + 1));
  std::ranges::transform(word, word.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(kWords, word) != kWords.end();
}

// scheme://user:password@host
std::string hide_password(std::string text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string::npos) {
    return text;
  }
  const std::size_t begin = scheme + 3;
  const std::size_t at = text.substr(0, text.find('/', begin)).rfind('@');
  if (at != std::string::npos && at > begin) {
    text.replace(begin, at - begin, kHidden);
  }
  return text;
}

}  // namespace

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
    argument = hide_password(std::move(argument));
  }
  return arguments;
}

}  // namespace kedge::track
