// A regular expression that takes time in proportion to the text, whatever it is: no backtracking,
// no recursion over the text. It knows . * + ? | ( ) [ ] ^ $, \d \w \s \D \W \S, and (?i) in front.
//
// It is a Glushkov automaton: one state a character of the pattern, all followed at once as bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace kedge::store {

class Pattern {
 public:
  // Usage errors say what is wrong with the pattern.
  static Result<Pattern> compile(std::string_view text);

  // Whether it matches anywhere in the text.
  bool is_in(std::string_view text) const;

 private:
  friend class PatternParser;

  using Bits = std::vector<std::uint64_t>;  // one a state

  // What leads into one state: characters, or one of the two ends of the text.
  struct CharacterSet {
    std::vector<std::pair<char32_t, char32_t>> ranges = {};
    bool is_negated = false;
    bool is_begin = false;
    bool is_end = false;

    bool has(char32_t character) const;
  };

  static constexpr std::size_t kAscii = 128;

  bool step(Bits& active, const Bits& allowed) const;
  Bits states_on(char32_t character) const;

  std::string literal_;  // where it is nothing but text
  bool is_literal_ = false;
  bool matches_everything_ = false;  // because it matches the empty text
  std::size_t words_ = 0;
  std::vector<CharacterSet> states_;
  std::vector<Bits> follow_;
  Bits first_;
  Bits last_;
  std::vector<Bits> ascii_;  // which states it leads into
  Bits begin_;
  Bits end_;
};

}  // namespace kedge::store
