// Regular expressions as tokenizer files write them, parsed into a program for the automaton.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "data/tokenizer/internal/character_set.h"

namespace kedge::data {

// Whose expression it is: `$` is the end of any line to Oniguruma, which reads those of
// tokenizer.json, and the end of the text to Rust's regex, which reads tiktoken's.
enum class Dialect : std::uint8_t { Oniguruma, Rust };

// One step of a program; of two ways the first is preferred.
struct PatternStep {
  enum class Kind : std::uint8_t {
    Take,     // one character of sets[set], then on to `next`
    Fork,     // on to `next`, or else to `other`
    Expect,   // on to `next` if the coming character is in sets[set]; not taken
    Exclude,  // the opposite: on to `next` if it is not, or if the text ends
    Match,
  };
  Kind kind = Kind::Match;
  std::size_t set = 0;
  std::size_t next = 0;
  std::size_t other = 0;
  bool or_end = false;  // Expect: holds at the end of the text too
};

struct PatternProgram {
  std::vector<PatternStep> steps;
  std::vector<CharacterSet> sets;
  std::size_t start = 0;
};

// Usage names the construct that is not known, and where it stands. Known: alternatives, groups,
// (?i:...), classes, \s \S \d \D \p{..} \P{..}, the usual quantifiers, $, lookahead at one
// character. A possessive quantifier is read as a greedy one, which is the same where what follows
// cannot begin with what was repeated; where it can, the expression is refused.
Result<PatternProgram> parse_pattern(std::string_view text, Dialect dialect);

}  // namespace kedge::data
