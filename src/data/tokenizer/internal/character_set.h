// A set of characters: what one element of a regular expression matches.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace kedge::data {

inline constexpr char32_t kLastCharacter = 0x10FFFF;

class CharacterSet {
 public:
  struct Range {
    char32_t first = 0;
    char32_t last = 0;  // is in it

    friend bool operator==(const Range&, const Range&) = default;
  };

  CharacterSet() = default;

  explicit CharacterSet(char32_t character) : CharacterSet(character, character) {}

  CharacterSet(char32_t first, char32_t last) : ranges_{{first, last}} {}

  // A property as \p{...} names it: a general category or its first letter. Nothing for others.
  static std::optional<CharacterSet> property(std::string_view name);
  // Unicode's White_Space.
  static CharacterSet white_space();
  // What \w is in Rust: letters, marks, digits, connectors, letters in circles, joiners.
  static CharacterSet word();

  void add(const CharacterSet& other);
  CharacterSet complement() const;
  bool contains(char32_t character) const;

  // In order, with gaps between them.
  const std::vector<Range>& ranges() const { return ranges_; }

  bool empty() const { return ranges_.empty(); }

  // The other cases of the ASCII letters in it, as (?i:...) adds them: k also stands for the Kelvin
  // sign and s for the long s. False when it holds letters beyond ASCII, whose cases are not known
  // here.
  bool add_other_cases();

  friend bool operator==(const CharacterSet&, const CharacterSet&) = default;

 private:
  std::vector<Range> ranges_;
};

}  // namespace kedge::data
