// Unicode's normal forms and lower case, by utf8proc. A character that is newer than its tables
// (Unicode 15.0 in Debian 12) stays as it is.
#pragma once

#include <cstdint>
#include <string>

namespace kedge::data {

enum class UnicodeForm : std::uint8_t { Nfc, Nfd, Nfkc, Nfkd };

// `text` must be UTF-8.
void to_form(UnicodeForm form, std::string& text);

// Character by character, as Rust's char::to_lowercase.
void to_lower_case(std::string& text);

void append_character(std::string& text, char32_t character);

}  // namespace kedge::data
