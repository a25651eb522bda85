// Texts as shells read them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kedge::jobs {

// As one word of a POSIX shell; plain words stay as they are.
std::string quote_for_shell(std::string_view text);

std::string join_for_shell(const std::vector<std::string>& words);

std::string export_line(std::string_view name, std::string_view value);

}  // namespace kedge::jobs
