// A regular expression that finds where text is cut: an automaton with a table, so that each
// character costs two loads whatever the expression. Shared by all threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "data/tokenizer/internal/pattern_parser.h"

namespace kedge::data {

class Pattern {
 public:
  // Usage for what parse_pattern refuses, and for an expression that can match nothing.
  static Result<Pattern> compile(std::string_view expression, Dialect dialect);

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  // Where the match that begins at `from` ends, as a backtracking matcher would find it (the first
  // alternative that matches, repeats as long as they can be); kNone when none begins there. `text`
  // must be UTF-8.
  std::size_t match(std::string_view text, std::size_t from) const;

 private:
  using Entry = std::uint32_t;  // the next state << 1 | whether a match ends before this character

  friend class PatternCompiler;

  std::uint8_t class_of(char32_t character) const {
    return pages_[std::size_t{page_of_[character >> kPageBits]} << kPageBits |
                  (character & ((1U << kPageBits) - 1))];
  }

  static constexpr unsigned kPageBits = 7;

  std::array<std::uint8_t, 128> ascii_{};
  std::vector<std::uint16_t> page_of_;
  std::vector<std::uint8_t> pages_;
  std::vector<Entry> table_;  // states in rows; the last column is the end of the text
  unsigned row_bits_ = 0;
  std::size_t end_class_ = 0;
  std::size_t start_ = 0;
};

// The expression that matches the text itself.
std::string escape_pattern(std::string_view text);

}  // namespace kedge::data
