// The pieces of an MLflow filter: what its SQL-like texts fall into before anybody asks what they
// mean. Any text can be cut; what is no piece of a filter is Other.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace kedge::mlflow {

struct Piece {
  enum class Kind : std::uint8_t {
    Name,        // a, tags.a.b, tags.`a b`, `a b`, "a b"
    Text,        // 'a b'; a "a b" is Name or Text, as its place asks
    Number,      // -1.5e3
    Comparator,  // = != <= ...
    Word,        // AND, OR, NOT, LIKE, ILIKE, IN, IS, NULL
    List,        // ( ... )
    Formula,     // a-b: a name with arithmetic in it, which nobody meant
    Comment,
    Semicolon,
    Other,
  };
  Kind kind = Kind::Other;
  std::string_view text = {};  // as it stands in the filter
};

// Without the spaces between them.
std::vector<Piece> cut_filter(std::string_view text);

// Whether the word is this one, in capitals or not.
bool is_word(const Piece& piece, std::string_view word);

// Between quotes: `x`, "x" or 'x'; otherwise as it is.
std::string_view unquoted(std::string_view text);

}  // namespace kedge::mlflow
