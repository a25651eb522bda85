#include "core/child_texts.h"

#include <algorithm>
#include <string_view>

#include <unistd.h>

namespace kedge {

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> texts;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const bool is_replaced = std::ranges::any_of(
        variables, [&](const auto& pair) { return text.starts_with(pair.first + "="); });
    if (!is_replaced) {
      texts.emplace_back(text);
    }
  }
  for (const auto& [name, value] : variables) {
    texts.push_back(name + "=" + value);
  }
  return texts;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace kedge
