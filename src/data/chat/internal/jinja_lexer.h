// A chat template's text cut into tokens, with the white space taken away that trim_blocks,
// lstrip_blocks and the signs in {%- and -%} take away.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace kedge::data::jinja {

struct Token {
  enum class Kind : std::uint8_t {
    Data,  // text that is printed as it is
    BlockBegin,
    BlockEnd,
    PrintBegin,
    PrintEnd,
    Name,
    Text,  // a literal; escapes are resolved
    Integer,
    Real,
    Operator,
    End,
  };
  Kind kind = Kind::End;
  std::string text = {};
  int line = 1;

  bool is(Kind wanted, std::string_view with) const { return kind == wanted && text == with; }

  bool is_operator(std::string_view with) const { return is(Kind::Operator, with); }

  bool is_name(std::string_view with) const { return is(Kind::Name, with); }
};

// An error without a place: the caller adds the template's name to "line 3: ...".
Result<std::vector<Token>> cut_into_tokens(std::string_view source);

// An error of a template, at a line of it.
std::unexpected<Error> fail_at(int line, std::string_view what, std::string hint = {});

}  // namespace kedge::data::jinja
