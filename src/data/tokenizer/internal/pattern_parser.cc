#include "data/tokenizer/internal/pattern_parser.h"

#include <charconv>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/utf8.h"
#include "data/tokenizer/internal/pattern_program.h"
#include "data/tokenizer/internal/pattern_syntax.h"

namespace kedge::data {
namespace {

using Node = PatternNode;

constexpr int kDeepest = 32;
constexpr int kMostRepeats = 64;

class Parser {
 public:
  Parser(std::string_view text, Dialect dialect) : all_(text), rest_(text), dialect_(dialect) {}

  Result<Node> parse() {
    Node root = KEDGE_TRY(parse_choice());
    if (!rest_.empty()) {
      return unknown("')' without '('");
    }
    return root;
  }

 private:
  std::unexpected<Error> unknown(std::string_view what) const {
    return fail(ErrorKind::Usage,
                fmt::format("regular expression '{}': {} at byte {} is not supported", all_, what,
                            all_.size() - rest_.size()),
                "no text was cut by it: a guess would give other tokens than the model knows");
  }

  bool take(std::string_view wanted) {
    const bool is_there = rest_.starts_with(wanted);
    rest_.remove_prefix(is_there ? wanted.size() : 0);
    return is_there;
  }

  Result<Node> parse_choice() {
    if (++depth_ > kDeepest) {
      return unknown("a group this deep");
    }
    Node choice{.kind = Node::Kind::Choice};
    do {
      choice.parts.push_back(KEDGE_TRY(parse_sequence()));
    } while (take("|"));
    --depth_;
    return choice.parts.size() == 1 ? std::move(choice.parts.front()) : std::move(choice);
  }

  Result<Node> parse_sequence() {
    Node sequence{.kind = Node::Kind::Sequence};
    while (!rest_.empty() && rest_[0] != '|' && rest_[0] != ')') {
      sequence.parts.push_back(KEDGE_TRY(parse_repeats(KEDGE_TRY(parse_atom()))));
    }
    return sequence;
  }

  Result<Node> parse_repeats(Node atom) {
    int least = 0;
    int most = Node::kNoLimit;
    if (take("?")) {
      most = 1;
    } else if (take("+")) {
      least = 1;
    } else if (rest_.starts_with('{')) {
      std::tie(least, most) = KEDGE_TRY(parse_bounds());
    } else if (!take("*")) {
      return atom;
    }
    if (atom.kind == Node::Kind::Look) {
      return unknown("a repeated assertion before this");
    }
    Node repeat{.kind = Node::Kind::Repeat, .least = least, .most = most};
    if (take("+")) {
      repeat.greed = Node::Greed::Possessive;
    } else if (take("?")) {
      repeat.greed = Node::Greed::Lazy;
    }
    if (!rest_.empty() && std::string_view("?*+{").contains(rest_[0])) {
      return unknown("a repeat of a repeat");
    }
    repeat.parts.push_back(std::move(atom));
    return repeat;
  }

  // {3}, {1,3}, {2,}
  Result<std::pair<int, int>> parse_bounds() {
    const auto number = [this](int fallback) {
      int value = fallback;
      const auto end = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value).ptr;
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      return value;
    };
    const std::string_view before = rest_;
    rest_.remove_prefix(1);
    const int least = number(-1);
    const int most = take(",") ? number(Node::kNoLimit) : least;
    if (!take("}") || least < 0 || least > kMostRepeats || most > kMostRepeats ||
        (most != Node::kNoLimit && most < least)) {
      rest_ = before;
      return unknown(fmt::format("a repeat other than {{m,n}} of at most {}", kMostRepeats));
    }
    return std::pair(least, most);
  }

  Result<Node> parse_atom() {
    if (take("(")) {
      return parse_group();
    }
    if (take("$")) {
      Node end{.kind = Node::Kind::Look, .or_end = true};
      if (dialect_ == Dialect::Oniguruma) {
        end.set = CharacterSet(U'\n');
      }
      return end;
    }
    Node one{.kind = Node::Kind::One};
    if (rest_[0] == '[') {
      one.set = KEDGE_TRY(parse_class());
    } else if (take(".")) {
      one.set = CharacterSet(U'\n').complement();
    } else if (rest_[0] == '^') {
      return unknown("'^'");
    } else if (std::string_view("?*+{").contains(rest_[0])) {
      return unknown("a repeat of nothing");
    } else if (rest_[0] == '\\') {
      one.set = KEDGE_TRY(parse_escape());
    } else {
      one.set = CharacterSet(take_character(rest_));
    }
    return ignores_case_ ? with_other_cases(std::move(one)) : std::move(one);
  }

  Result<Node> with_other_cases(Node one) {
    if (!one.set.add_other_cases()) {
      return unknown("a character beyond ASCII under (?i:, before this,");
    }
    return one;
  }

  // What follows "(": a group without a number, or with one, which makes no difference here.
  Result<Node> parse_group() {
    const bool outside = ignores_case_;
    const bool is_look = rest_.starts_with("?=") || rest_.starts_with("?!");
    const bool is_negative = take("?!");
    if (take("?i:")) {
      ignores_case_ = true;
    } else if (!is_negative && !take("?=") && !take("?:") && rest_.starts_with('?')) {
      return unknown(fmt::format("'({}'", rest_.substr(0, 2)));
    }
    Node inside = KEDGE_TRY(parse_choice());
    ignores_case_ = outside;
    if (!take(")")) {
      return unknown("'(' without ')'");
    }
    if (!is_look) {
      return inside;
    }
    const bool is_one = inside.kind == Node::Kind::Sequence && inside.parts.size() == 1 &&
                        inside.parts[0].kind == Node::Kind::One;
    if (!is_one) {
      return unknown("lookahead at more than one character, before this,");
    }
    return Node{.kind = Node::Kind::Look,
                .set = std::move(inside.parts[0].set),
                .is_negative = is_negative};
  }

  // \s, \p{Lu}, \n, \., \uXXXX; at the backslash.
  Result<CharacterSet> parse_escape() {
    const std::string_view before = rest_;
    rest_.remove_prefix(1);
    const char32_t name = rest_.empty() ? 0 : take_character(rest_);
    switch (name) {
      case U's':
        return CharacterSet::white_space();
      case U'S':
        return CharacterSet::white_space().complement();
      case U'd':
        return *CharacterSet::property("Nd");
      case U'D':
        return CharacterSet::property("Nd")->complement();
      case U'w':
      case U'W':
        if (dialect_ == Dialect::Rust) {  // Oniguruma's is another set
          return name == U'w' ? CharacterSet::word() : CharacterSet::word().complement();
        }
        break;
      case U'n':
        return CharacterSet(U'\n');
      case U'r':
        return CharacterSet(U'\r');
      case U't':
        return CharacterSet(U'\t');
      case U'p':
      case U'P':
        return parse_property(name == U'P', before);
      default:
        break;
    }
    const bool is_letter = (name >= U'a' && name <= U'z') || (name >= U'A' && name <= U'Z');
    if (name == 0 || is_letter || (name >= U'0' && name <= U'9')) {
      rest_ = before;
      return unknown(fmt::format("'{}'", before.substr(0, 2)));
    }
    return CharacterSet(name);
  }

  Result<CharacterSet> parse_property(bool is_negative, std::string_view before) {
    const std::size_t end = rest_.find('}');
    std::optional<CharacterSet> set;
    if (rest_.starts_with('{') && end != std::string_view::npos) {
      std::string_view name = rest_.substr(1, end - 1);
      is_negative ^= name.starts_with('^');
      name.remove_prefix(name.starts_with('^') ? 1 : 0);
      set = CharacterSet::property(name);
    }
    if (!set) {
      rest_ = before;
      return unknown(fmt::format("'{}'", before.substr(0, before.find('}') + 1)));
    }
    rest_.remove_prefix(end + 1);
    return is_negative ? set->complement() : *set;
  }

  // [...], at the bracket.
  Result<CharacterSet> parse_class() {
    rest_.remove_prefix(1);
    const bool is_negative = take("^");
    CharacterSet set;
    for (bool is_first = true; is_first || !rest_.starts_with(']'); is_first = false) {
      if (rest_.empty() || rest_[0] == '[' || rest_.starts_with("&&") ||
          (is_first && rest_[0] == ']')) {
        return unknown("a class inside a class, an empty or an unfinished one");
      }
      const CharacterSet item = KEDGE_TRY(parse_item());
      const bool is_range = rest_.size() > 1 && rest_[0] == '-' && rest_[1] != ']';
      if (!is_range) {
        set.add(item);
        continue;
      }
      rest_.remove_prefix(1);
      const CharacterSet last = KEDGE_TRY(parse_item());
      const auto is_one = [](const CharacterSet& ends) {
        return ends.ranges().size() == 1 && ends.ranges()[0].first == ends.ranges()[0].last;
      };
      if (!is_one(item) || !is_one(last) || item.ranges()[0].first > last.ranges()[0].first) {
        return unknown("a range without two ends, before this,");
      }
      set.add(CharacterSet(item.ranges()[0].first, last.ranges()[0].first));
    }
    rest_.remove_prefix(1);
    return is_negative ? set.complement() : set;
  }

  Result<CharacterSet> parse_item() {
    if (rest_[0] == '\\') {
      return parse_escape();
    }
    return CharacterSet(take_character(rest_));
  }

  std::string_view all_;
  std::string_view rest_;
  Dialect dialect_;
  bool ignores_case_ = false;
  int depth_ = 0;
};

}  // namespace

Result<PatternProgram> parse_pattern(std::string_view text, Dialect dialect) {
  if (!is_utf8(text)) {
    return fail(ErrorKind::Usage, "a regular expression is not UTF-8");
  }
  const PatternNode root = KEDGE_TRY(Parser(text, dialect).parse());
  auto program = make_pattern_program(root);
  if (!program) {
    program.error().message =
        fmt::format("regular expression '{}': {}", text, program.error().message);
  }
  return program;
}

}  // namespace kedge::data
