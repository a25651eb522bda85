// The tokens of a GraphQL document. Commas, comments and the byte order mark are blanks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"

namespace kedge::graphql {

struct Token {
  enum class Kind : std::uint8_t { End, Name, Punctuator, Int, Float, String };
  Kind kind = Kind::End;
  std::string text = {};  // of a string: what it stands for; "..." is one punctuator
  std::size_t at = 0;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<Token> next();

  // "m at line 3, column 7".
  Error error_at(std::size_t at, std::string_view message) const;

 private:
  void skip_blanks();
  Result<Token> take_number();
  Result<Token> take_string();
  Result<Token> take_block();
  Result<void> take_escape(std::string& out);
  Result<unsigned> take_hex();

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace kedge::graphql
