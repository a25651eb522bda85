// Text from outside as UTF-8: bytes that are none become U+FFFD, as Python's errors="replace" makes
// it (one for the longest beginning of a character that is cut short, one for any other byte).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kedge::data {

// Where the first bytes that are not UTF-8 begin; the size of the text when all are.
std::size_t find_invalid(std::string_view text);

// `text` clean in `clean`; returns how many U+FFFD stand for bytes that were none.
std::size_t replace_invalid(std::string_view text, std::string& clean);

}  // namespace kedge::data
