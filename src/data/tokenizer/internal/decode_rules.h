// How ids become text again: the decoder of a tokenizer.json. Shared by all threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"

namespace kedge::data {

struct DecodeRules {
  enum class Kind : std::uint8_t {
    Bytes,      // the tokens' bytes one after the other
    Pieces,     // the tokens' texts one after the other, "<0xE4>" being a byte of a character
    Marks,      // texts in which a mark stands for a space, but not in the first
    WordParts,  // words with spaces between, a prefix on what goes on with one
    Words,      // a space between any two
  };
  Kind kind = Kind::Words;
  std::vector<std::pair<std::string, std::string>> replacements;  // in each token's text
  bool has_byte_tokens = false;
  std::string strip;           // at the beginning of all text, up to ...
  std::size_t strip_most = 0;  // ... so many times
  std::string prefix;          // WordParts
  bool tidies = false;         // WordParts: no space before punctuation

  // null or a decoder. Usage names a kind or an order that is not known.
  static Result<DecodeRules> read(const nlohmann::json& json);
};

}  // namespace kedge::data
