// The letters in which ByteLevel vocabularies write bytes: what is printable in Latin-1 is itself,
// the other 68 bytes are U+0100 and on.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kedge::data {

// Nothing for text with another character in it.
std::optional<std::string> bytes_of_letters(std::string_view letters);

}  // namespace kedge::data
