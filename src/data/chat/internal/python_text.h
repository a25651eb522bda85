// Python's methods of str, on UTF-8.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::data::jinja {

bool is_space(char32_t character);  // str.isspace()

// Without `set`, white space is taken away; else any of its characters.
std::string_view strip_left(std::string_view text, const std::optional<std::string>& set = {});
std::string_view strip_right(std::string_view text, const std::optional<std::string>& set = {});
std::string_view strip(std::string_view text, const std::optional<std::string>& set = {});

// Without a separator, at runs of white space. `most`: at so many places; -1: at all.
std::vector<std::string> split(std::string_view text, const std::optional<std::string>& separator,
                               std::int64_t most);
std::vector<std::string> split_right(std::string_view text,
                                     const std::optional<std::string>& separator,
                                     std::int64_t most);
std::vector<std::string> split_lines(std::string_view text);

std::string replace(std::string_view text, std::string_view from, std::string_view to,
                    std::int64_t most);
std::string lower(std::string_view text);
std::string upper(std::string_view text);
std::string capitalize(std::string_view text);
std::string title(std::string_view text);  // str.title()

}  // namespace kedge::data::jinja
