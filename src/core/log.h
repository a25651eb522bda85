// Talk for people, on stderr; stdout is kept for data. No colour unless stderr is a terminal.
#pragma once

#include <string_view>

#include <fmt/format.h>

namespace kedge {

void print_line(std::string_view text);     // as it is
void print_warning(std::string_view text);  // with "kedge: warning: " in front

template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  print_line(fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  print_warning(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace kedge
