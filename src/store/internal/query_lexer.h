// The words of a filter. A bare word is the longest run of letters, digits and _ . / - @ % : +,
// with parts between backquotes as they stand: whether it is a name, a number, a span of time or a
// text depends on where it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace kedge::store {

enum class TokenKind : std::uint8_t {
  End,
  Bare,
  Text,  // between quotes
  LeftParen,
  RightParen,
  LeftBracket,
  RightBracket,
  Comma,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Match,
  NotMatch,
};

struct Segment {
  std::string text;
  bool is_quoted = false;
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::size_t column = 1;      // in characters
  std::string text;            // as written; of Text, what is between the quotes
  std::vector<Segment> parts;  // of Bare: between the dots

  // Whether it is this word (in lower case), in letters of any case and without backquotes.
  bool is_word(std::string_view word) const;
};

// "filter, column 7: expected ..."
Error query_error(std::size_t column, std::string_view what, std::string hint = {});

// What a message calls it: "'foo'", "the end".
std::string shown(const Token& token);

Result<std::vector<Token>> split_query(std::string_view text);

}  // namespace kedge::store
