// From the syntax tree of a regular expression to the steps that the automaton is made of.
#pragma once

#include "core/result.h"
#include "data/tokenizer/internal/pattern_parser.h"
#include "data/tokenizer/internal/pattern_syntax.h"

namespace kedge::data {

// Usage when a possessive repeat is not the same as a greedy one, or the program is too long.
Result<PatternProgram> make_pattern_program(const PatternNode& root);

}  // namespace kedge::data
