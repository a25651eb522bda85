#include "data/tokenizer/internal/pattern.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string>

#include <fmt/format.h>

#include "core/utf8.h"

namespace kedge::data {

// Makes the table: the characters that no set tells apart are one class; a state is the list of
// steps that a backtracking matcher would still try, in its order. Those behind the first that
// matches are dropped, because it would never come to them.
class PatternCompiler {
 public:
  explicit PatternCompiler(const PatternProgram& program) : program_(program) {}

  Result<Pattern> compile() {
    KEDGE_TRY(make_classes());
    pattern_.end_class_ = members_.size();
    pattern_.row_bits_ = static_cast<unsigned>(std::bit_width(members_.size()));
    state_of({});  // 0: nothing can match any more
    pattern_.start_ = state_of({program_.start});
    for (std::size_t state = 0; state < states_.size(); ++state) {
      if (states_.size() > kMostStates) {
        return fail(ErrorKind::Usage, "it is too complex for kedge");
      }
      for (std::size_t kind = 0; kind <= members_.size(); ++kind) {
        const Pattern::Entry entry = follow(state, kind);
        pattern_.table_[(state << pattern_.row_bits_) + kind] = entry;
        if (state == pattern_.start_ && (entry & 1U) != 0) {
          return fail(ErrorKind::Usage, "it can match nothing, which cuts no text");
        }
      }
    }
    return std::move(pattern_);
  }

 private:
  using Steps = std::vector<std::size_t>;
  static constexpr std::size_t kMostStates = 2000;
  static constexpr std::size_t kMostClasses = 250;

  // Classes by the borders of all sets.
  Result<void> make_classes() {
    std::map<char32_t, std::uint64_t> flips;  // which sets begin or end there
    flips[0];
    for (std::size_t i = 0; i < program_.sets.size(); ++i) {
      for (const CharacterSet::Range& range : program_.sets[i].ranges()) {
        flips[range.first] ^= std::uint64_t{1} << i;
        flips[range.last + 1] ^= std::uint64_t{1} << i;
      }
    }
    std::map<std::uint64_t, std::uint8_t> numbers;
    std::vector<std::uint8_t> classes(kLastCharacter + 1);
    std::uint64_t inside = 0;
    for (auto flip = flips.begin(); flip != flips.end() && flip->first <= kLastCharacter; ++flip) {
      inside ^= flip->second;
      if (!numbers.contains(inside)) {
        if (members_.size() >= kMostClasses) {
          return fail(ErrorKind::Usage, "it is too complex for kedge");
        }
        numbers[inside] = static_cast<std::uint8_t>(members_.size());
        members_.push_back(inside);
      }
      const auto next = std::next(flip);
      const char32_t end = next == flips.end()
                               ? kLastCharacter + 1
                               : std::min<char32_t>(next->first, kLastCharacter + 1);
      std::fill(classes.begin() + flip->first, classes.begin() + end, numbers[inside]);
    }
    fold(classes);
    return {};
  }

  // Pages of classes, equal ones kept once.
  void fold(const std::vector<std::uint8_t>& classes) {
    constexpr std::size_t kPage = 1U << Pattern::kPageBits;
    std::map<std::string, std::uint16_t> pages;
    for (std::size_t at = 0; at < classes.size(); at += kPage) {
      const auto from = classes.begin() + static_cast<std::ptrdiff_t>(at);
      const auto [page, is_new] = pages.try_emplace(std::string(from, from + kPage),
                                                    static_cast<std::uint16_t>(pages.size()));
      if (is_new) {
        pattern_.pages_.insert(pattern_.pages_.end(), from, from + kPage);
      }
      pattern_.page_of_.push_back(page->second);
    }
    std::copy_n(classes.begin(), pattern_.ascii_.size(), pattern_.ascii_.begin());
  }

  std::size_t state_of(const Steps& steps) {
    const auto [state, is_new] = numbers_.try_emplace(steps, states_.size());
    if (is_new) {
      states_.push_back(steps);
      pattern_.table_.resize(states_.size() << pattern_.row_bits_);
    }
    return state->second;
  }

  // Where a state leads on a character of the class, or at the end of the text.
  Pattern::Entry follow(std::size_t state, std::size_t kind) {
    Steps after;
    std::vector<bool> is_tried(program_.steps.size());
    std::vector<bool> is_kept(program_.steps.size());
    for (const std::size_t first : states_[state]) {
      Steps open = {first};
      while (!open.empty()) {
        const std::size_t at = open.back();
        open.pop_back();
        if (is_tried[at]) {
          continue;
        }
        is_tried[at] = true;
        const PatternStep& step = program_.steps[at];
        switch (step.kind) {
          case PatternStep::Kind::Match:
            return entry(state_of(after), true);
          case PatternStep::Kind::Fork:
            open.push_back(step.other);
            open.push_back(step.next);
            break;
          case PatternStep::Kind::Take:
            if (holds(step.set, kind) && !is_kept[step.next]) {
              is_kept[step.next] = true;
              after.push_back(step.next);
            }
            break;
          default:
            if (is_passed(step, kind)) {
              open.push_back(step.next);
            }
        }
      }
    }
    return entry(state_of(after), false);
  }

  static Pattern::Entry entry(std::size_t state, bool is_match) {
    return static_cast<Pattern::Entry>(state << 1U | (is_match ? 1U : 0U));
  }

  bool holds(std::size_t set, std::size_t kind) const {
    return kind < members_.size() && (members_[kind] >> set & 1U) != 0;
  }

  bool is_passed(const PatternStep& step, std::size_t kind) const {
    const bool is_end = kind == members_.size();
    const bool is_expected = holds(step.set, kind);
    return step.kind == PatternStep::Kind::Expect ? is_expected || (is_end && step.or_end)
                                                  : !is_expected;
  }

  const PatternProgram& program_;
  Pattern pattern_;
  std::vector<std::uint64_t> members_;  // of each class: the sets it is in, a bit each
  std::vector<Steps> states_;
  std::map<Steps, std::size_t> numbers_;
};

Result<Pattern> Pattern::compile(std::string_view expression, Dialect dialect) {
  const PatternProgram program = KEDGE_TRY(parse_pattern(expression, dialect));
  auto pattern = PatternCompiler(program).compile();
  if (!pattern) {
    pattern.error().message =
        fmt::format("regular expression '{}': {}", expression, pattern.error().message);
  }
  return pattern;
}

std::string escape_pattern(std::string_view text) {
  std::string escaped;
  for (const char byte : text) {
    if (std::string_view(R"(\|()[]{}?*+.^$)").contains(byte)) {
      escaped += '\\';
    }
    escaped += byte;
  }
  return escaped;
}

std::size_t Pattern::match(std::string_view text, std::size_t from) const {
  std::size_t matched = kNone;
  std::size_t state = start_;
  std::size_t at = from;
  while (at < text.size()) {
    const auto byte = static_cast<std::uint8_t>(text[at]);
    std::size_t kind = 0;
    std::size_t length = 1;
    if (byte < 0x80) {
      kind = ascii_[byte];
    } else {
      std::string_view rest = text.substr(at, 4);
      const std::size_t before = rest.size();
      kind = class_of(take_character(rest));
      length = before - rest.size();
    }
    const Entry entry = table_[(state << row_bits_) + kind];
    matched = (entry & 1U) != 0 ? at : matched;
    state = entry >> 1U;
    if (state == 0) {
      return matched;
    }
    at += length;
  }
  return (table_[(state << row_bits_) + end_class_] & 1U) != 0 ? at : matched;
}

}  // namespace kedge::data
