#include "store/pattern.h"

#include <algorithm>
#include <bit>
#include <optional>

#include <fmt/format.h>

#include "core/utf8.h"

namespace kedge::store {
namespace {

constexpr std::size_t kMaxStates = 1024;
constexpr int kMaxNesting = 50;
constexpr std::string_view kSpecial = "\\.*+?|()[]{}^$";
constexpr char32_t kGreatestCharacter = 0x10FFFF;

using Bits = std::vector<std::uint64_t>;

void add_bits(Bits& to, const Bits& from) {
  if (to.size() < from.size()) {
    to.resize(from.size());
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i] |= from[i];
  }
}

template <typename Visit>
void each_bit(const Bits& bits, const Visit& visit) {
  for (std::size_t word = 0; word < bits.size(); ++word) {
    for (std::uint64_t rest = bits[word]; rest != 0; rest &= rest - 1) {
      visit(word * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
    }
  }
}

bool is_letter(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

bool Pattern::CharacterSet::has(char32_t character) const {
  if (is_begin || is_end) {
    return false;
  }
  const bool is_within = std::ranges::any_of(ranges, [&](const auto& range) {
    return character >= range.first && character <= range.second;
  });
  return is_within != is_negated;
}

// Recursive descent over the pattern; depth is bounded.
class PatternParser {
 public:
  PatternParser(std::string_view text, bool ignores_case)
      : rest_(text), ignores_case_(ignores_case) {}

  Result<Pattern> parse() {
    const Fragment whole = KEDGE_TRY(parse_choice(0));
    if (!rest_.empty()) {
      return wrong("')' without '('");
    }
    pattern_.matches_everything_ = whole.is_nullable;
    pattern_.words_ = (pattern_.states_.size() + 63) / 64;
    pattern_.first_ = whole.first;
    pattern_.last_ = whole.last;
    finish();
    return std::move(pattern_);
  }

 private:
  using CharacterSet = Pattern::CharacterSet;

  struct Fragment {
    bool is_nullable = true;
    Bits first = {};
    Bits last = {};
  };

  static std::unexpected<Error> wrong(std::string_view what) {
    return fail(ErrorKind::Usage, fmt::format("the pattern has {}", what),
                "patterns know . * + ? | ( ) [ ] ^ $ \\d \\w \\s; \\ before a character takes it "
                "as it is");
  }

  bool take(char byte) {
    if (!rest_.starts_with(byte)) {
      return false;
    }
    rest_.remove_prefix(1);
    return true;
  }

  Result<Fragment> parse_choice(int depth) {
    if (depth > kMaxNesting) {
      return wrong("too many parentheses inside one another");
    }
    Fragment choice = KEDGE_TRY(parse_sequence(depth));
    while (take('|')) {
      const Fragment other = KEDGE_TRY(parse_sequence(depth));
      choice.is_nullable |= other.is_nullable;
      add_bits(choice.first, other.first);
      add_bits(choice.last, other.last);
    }
    return choice;
  }

  Result<Fragment> parse_sequence(int depth) {
    Fragment sequence;
    while (!rest_.empty() && rest_[0] != '|' && rest_[0] != ')') {
      const Fragment next = KEDGE_TRY(parse_repeated(depth));
      link(sequence.last, next.first);
      if (sequence.is_nullable) {
        add_bits(sequence.first, next.first);
      }
      if (!next.is_nullable) {
        sequence.last.clear();
      }
      add_bits(sequence.last, next.last);
      sequence.is_nullable &= next.is_nullable;
    }
    return sequence;
  }

  Result<Fragment> parse_repeated(int depth) {
    Fragment piece = KEDGE_TRY(parse_piece(depth));
    while (!rest_.empty() && (rest_[0] == '*' || rest_[0] == '+' || rest_[0] == '?')) {
      if (rest_[0] != '?') {
        link(piece.last, piece.first);
      }
      piece.is_nullable |= rest_[0] != '+';
      rest_.remove_prefix(1);
    }
    return piece;
  }

  Result<Fragment> parse_piece(int depth) {
    if (take('(')) {
      if (rest_.starts_with("?:")) {
        rest_.remove_prefix(2);
      } else if (rest_.starts_with('?')) {
        return wrong("'(?', which it does not know");
      }
      Fragment inner = KEDGE_TRY(parse_choice(depth + 1));
      if (!take(')')) {
        return wrong("'(' without ')'");
      }
      return inner;
    }
    return state_for(KEDGE_TRY(parse_characters()));
  }

  Result<CharacterSet> parse_characters() {
    const char32_t character = take_character(rest_);
    switch (character) {
      case '^':
        return CharacterSet{.is_begin = true};
      case '$':
        return CharacterSet{.is_end = true};
      case '.':
        return CharacterSet{.ranges = {{'\n', '\n'}}, .is_negated = true};
      case '[':
        return parse_class();
      case '\\':
        return parse_escape();
      case '*':
      case '+':
      case '?':
        return wrong(fmt::format("'{}' with nothing before it", static_cast<char>(character)));
      case '{':
      case '}':
        return wrong("'{' or '}', which it does not know; write \\{ for the character");
      case ']':
        return wrong("']' without '['");
      default:
        return CharacterSet{.ranges = {{character, character}}};
    }
  }

  Result<CharacterSet> parse_escape() {
    if (rest_.empty()) {
      return wrong("'\\' at its end");
    }
    const char32_t character = take_character(rest_);
    switch (character) {
      case 'd':
      case 'D':
        return CharacterSet{.ranges = {{'0', '9'}}, .is_negated = character == 'D'};
      case 'w':
      case 'W':
        return CharacterSet{.ranges = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}},
                            .is_negated = character == 'W'};
      case 's':
      case 'S':
        return CharacterSet{.ranges = {{'\t', '\r'}, {' ', ' '}}, .is_negated = character == 'S'};
      case 'n':
        return CharacterSet{.ranges = {{'\n', '\n'}}};
      case 't':
        return CharacterSet{.ranges = {{'\t', '\t'}}};
      default:
        if (is_letter(character) || (character >= '0' && character <= '9')) {
          return wrong(fmt::format("'\\{}', which it does not know", static_cast<char>(character)));
        }
        return CharacterSet{.ranges = {{character, character}}};
    }
  }

  // A class within a class, negated, is its complement.
  static void add_ranges(CharacterSet& to, const CharacterSet& from) {
    if (!from.is_negated) {
      to.ranges.insert(to.ranges.end(), from.ranges.begin(), from.ranges.end());
      return;
    }
    char32_t next = 0;
    for (const auto& [low, high] : from.ranges) {  // in order, as parse_escape makes them
      if (low > next) {
        to.ranges.emplace_back(next, low - 1);
      }
      next = high + 1;
    }
    to.ranges.emplace_back(next, kGreatestCharacter);
  }

  static bool is_single(const CharacterSet& characters) {
    return !characters.is_negated && characters.ranges.size() == 1 &&
           characters.ranges[0].first == characters.ranges[0].second;
  }

  Result<CharacterSet> parse_class() {
    CharacterSet characters{.is_negated = take('^')};
    for (bool is_first = true; is_first || !rest_.starts_with(']'); is_first = false) {
      if (rest_.empty()) {
        return wrong("'[' without ']'");
      }
      const CharacterSet low = KEDGE_TRY(parse_class_item());
      const bool is_range = rest_.size() > 1 && rest_[0] == '-' && rest_[1] != ']';
      if (!is_range) {
        add_ranges(characters, low);
        continue;
      }
      rest_.remove_prefix(1);
      const CharacterSet high = KEDGE_TRY(parse_class_item());
      if (!is_single(low) || !is_single(high) || low.ranges[0].first > high.ranges[0].first) {
        return wrong("a range in [ ] whose ends are not two characters in order");
      }
      characters.ranges.emplace_back(low.ranges[0].first, high.ranges[0].first);
    }
    rest_.remove_prefix(1);
    return characters;
  }

  Result<CharacterSet> parse_class_item() {
    const char32_t character = take_character(rest_);
    if (character == '\\') {
      return parse_escape();
    }
    return CharacterSet{.ranges = {{character, character}}};
  }

  void fold_case(CharacterSet& characters) const {
    const std::size_t count = ignores_case_ ? characters.ranges.size() : 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto [low, high] = characters.ranges[i];
      for (const char32_t start : {U'a', U'A'}) {
        const char32_t other = start == U'a' ? U'A' : U'a';
        const char32_t from = std::max(low, start);
        const char32_t to = std::min<char32_t>(high, start + 25);
        if (from <= to) {
          characters.ranges.emplace_back(from - start + other, to - start + other);
        }
      }
    }
  }

  Result<Fragment> state_for(CharacterSet characters) {
    const std::size_t state = pattern_.states_.size();
    if (state == kMaxStates) {
      return wrong(fmt::format("more than {} characters", kMaxStates));
    }
    fold_case(characters);
    pattern_.states_.push_back(std::move(characters));
    pattern_.follow_.emplace_back();
    Bits bits(state / 64 + 1);
    bits.back() = 1ULL << (state % 64);
    return Fragment{.is_nullable = false, .first = bits, .last = bits};
  }

  void link(const Bits& from, const Bits& to) {
    each_bit(from, [&](std::size_t state) { add_bits(pattern_.follow_[state], to); });
  }

  void finish() {
    Pattern& pattern = pattern_;
    for (Bits& bits : pattern.follow_) {
      bits.resize(pattern.words_);
    }
    pattern.first_.resize(pattern.words_);
    pattern.last_.resize(pattern.words_);
    pattern.begin_.resize(pattern.words_);
    pattern.end_.resize(pattern.words_);
    for (std::size_t state = 0; state < pattern.states_.size(); ++state) {
      const std::uint64_t bit = 1ULL << (state % 64);
      pattern.begin_[state / 64] |= pattern.states_[state].is_begin ? bit : 0;
      pattern.end_[state / 64] |= pattern.states_[state].is_end ? bit : 0;
    }
    for (char32_t character = 0; character < Pattern::kAscii; ++character) {
      pattern.ascii_.push_back(pattern.states_on(character));
    }
  }

  std::string_view rest_;
  bool ignores_case_;
  Pattern pattern_;
};

Result<Pattern> Pattern::compile(std::string_view text) {
  constexpr std::string_view kIgnoreCase = "(?i)";
  if (text.find_first_of(kSpecial) == std::string_view::npos) {
    Pattern pattern;
    pattern.literal_ = text;
    pattern.is_literal_ = true;
    return pattern;
  }
  const bool ignores_case = text.starts_with(kIgnoreCase);
  return PatternParser(ignores_case ? text.substr(kIgnoreCase.size()) : text, ignores_case).parse();
}

Pattern::Bits Pattern::states_on(char32_t character) const {
  Bits allowed(words_);
  for (std::size_t state = 0; state < states_.size(); ++state) {
    if (states_[state].has(character)) {
      allowed[state / 64] |= 1ULL << (state % 64);
    }
  }
  return allowed;
}

// One character on. True: the pattern ends here.
bool Pattern::step(Bits& active, const Bits& allowed) const {
  thread_local Bits next;
  next = first_;  // a match may begin anywhere
  each_bit(active, [&](std::size_t state) {
    for (std::size_t word = 0; word < words_; ++word) {
      next[word] |= follow_[state][word];
    }
  });
  bool is_end = false;
  for (std::size_t word = 0; word < words_; ++word) {
    active[word] = next[word] & allowed[word];
    is_end |= (active[word] & last_[word]) != 0;
  }
  return is_end;
}

bool Pattern::is_in(std::string_view text) const {
  if (is_literal_) {
    return text.find(literal_) != std::string_view::npos;
  }
  if (matches_everything_) {
    return true;
  }
  thread_local Bits active;
  active.assign(words_, 0);
  if (step(active, begin_)) {
    return true;
  }
  while (!text.empty()) {
    const char32_t character = take_character(text);
    if (character < kAscii ? step(active, ascii_[character]) : step(active, states_on(character))) {
      return true;
    }
  }
  return step(active, end_);
}

}  // namespace kedge::store
