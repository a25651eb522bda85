// Texts in addresses: percent signs.
#pragma once

#include <string>
#include <string_view>

namespace kedge {

// Percent-encodes everything but A-Z a-z 0-9 - . _ ~ (RFC 3986, and what SigV4 signs).
std::string encode_url_part(std::string_view text);

// The same for each part of a path: slashes stay.
std::string encode_url_path(std::string_view path);

struct DecodedUrl {
  std::string text;      // percent signs that begin no code stay as they are
  bool is_sound = true;  // there were none of these
};

// The other way round, once.
DecodedUrl decode_url(std::string_view text);

}  // namespace kedge
