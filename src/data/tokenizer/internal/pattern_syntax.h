// The syntax tree of a regular expression, between its parser and its program.
#pragma once

#include <cstdint>
#include <vector>

#include "data/tokenizer/internal/character_set.h"

namespace kedge::data {

struct PatternNode {
  enum class Kind : std::uint8_t { Sequence, Choice, One, Repeat, Look };
  enum class Greed : std::uint8_t { Greedy, Lazy, Possessive };
  static constexpr int kNoLimit = -1;

  Kind kind = Kind::Sequence;
  std::vector<PatternNode> parts = {};  // of Sequence and Choice; what is repeated
  CharacterSet set = {};                // One, Look
  int least = 0;                        // Repeat
  int most = kNoLimit;
  Greed greed = Greed::Greedy;
  bool is_negative = false;  // Look
  bool or_end = false;       // Look: holds at the end of the text too
};

}  // namespace kedge::data
