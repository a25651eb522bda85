// What Slurm's programs print between separators.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace kedge::jobs::slurm {

// Every part counts, empty ones too: "a||" has three.
std::vector<std::string> split(std::string_view text, char separator);

// Nothing where other letters stand before or after it.
template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

}  // namespace kedge::jobs::slurm
