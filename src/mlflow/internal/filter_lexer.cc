#include "mlflow/internal/filter_lexer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

namespace kedge::mlflow {
namespace {

constexpr auto kWords =
    std::to_array<std::string_view>({"and", "or", "not", "like", "ilike", "in", "is", "null"});

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Bytes beyond ASCII are letters here: names are checked where they are used.
bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$' ||
         c == '@' || static_cast<unsigned char>(c) >= 0x80;
}

bool equals(std::string_view a, std::string_view lower) {
  return a.size() == lower.size() && std::ranges::equal(a, lower, [](char x, char y) {
           return (x >= 'A' && x <= 'Z' ? static_cast<char>(x - 'A' + 'a') : x) == y;
         });
}

class Cutter {
 public:
  explicit Cutter(std::string_view text) : rest_(text) {}

  std::vector<Piece> cut() {
    while (true) {
      while (!rest_.empty() && is_space(rest_[0])) {
        rest_.remove_prefix(1);
      }
      if (rest_.empty()) {
        return std::move(pieces_);
      }
      const auto [kind, size] = next();
      pieces_.push_back({kind, rest_.substr(0, size)});
      rest_.remove_prefix(size);
    }
  }

 private:
  struct Found {
    Piece::Kind kind;
    std::size_t size;
  };

  char at(std::size_t i) const { return i < rest_.size() ? rest_[i] : '\0'; }

  // The size of what begins with a quote at `from`; 0 when it does not end. A doubled quote, and in
  // texts one behind a backslash, does not end it.
  std::size_t quoted_size(std::size_t from) const {
    const char quote = at(from);
    for (std::size_t i = from + 1; i < rest_.size(); ++i) {
      if (rest_[i] == '\\' && quote != '`' && at(i + 1) == quote && i + 2 < rest_.size()) {
        ++i;
      } else if (rest_[i] == quote) {
        if (at(i + 1) != quote) {
          return i + 1 - from;
        }
        ++i;
      }
    }
    return 0;
  }

  std::size_t number_size() const {
    std::size_t i = at(0) == '-' ? 1 : 0;
    const std::size_t begin = i;
    while (is_digit(at(i))) {
      ++i;
    }
    std::size_t digits = i - begin;
    if (at(i) == '.') {
      ++i;
      const std::size_t point = i;
      while (is_digit(at(i))) {
        ++i;
      }
      digits += i - point;
    }
    if (digits == 0) {
      return 0;
    }
    if ((at(i) | 0x20) == 'e') {
      std::size_t k = i + 1;
      k += at(k) == '+' || at(k) == '-' ? 1 : 0;
      const std::size_t exponent = k;
      while (is_digit(at(k))) {
        ++k;
      }
      i = k > exponent ? k : i;
    }
    return is_name_byte(at(i)) ? 0 : i;  // 1and, 1_000: no number
  }

  // a.b.`c d`
  std::size_t name_size() const {
    std::size_t i = 0;
    while (i < rest_.size()) {
      if (is_name_byte(at(i)) || (at(i) == '.' && i > 0)) {
        ++i;
        continue;
      }
      const bool is_quote = at(i) == '`' || at(i) == '"' || at(i) == '\'';
      const bool may_begin = i == 0 ? at(i) != '\'' : at(i - 1) == '.';
      const std::size_t size = is_quote && may_begin ? quoted_size(i) : 0;
      if (size == 0) {
        break;
      }
      i += size;
    }
    return i;
  }

  std::size_t list_size() const {
    std::size_t depth = 0;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      if (at(i) == '\'' || at(i) == '"') {
        const std::size_t size = quoted_size(i);
        i += size == 0 ? 0 : size - 1;
      } else if (at(i) == '(') {
        ++depth;
      } else if (at(i) == ')' && --depth == 0) {
        return i + 1;
      }
    }
    return 0;
  }

  Found comment() const {
    const bool is_block = at(0) == '/';
    const auto end = is_block ? rest_.find("*/", 2) : rest_.find('\n');
    return {Piece::Kind::Comment,
            end == std::string_view::npos ? rest_.size() : end + (is_block ? 2 : 0)};
  }

  Found name() const {
    std::size_t size = name_size();
    if (std::ranges::any_of(kWords,
                            [&](auto word) { return equals(rest_.substr(0, size), word); })) {
      return {Piece::Kind::Word, size};
    }
    constexpr std::string_view kArithmetic = "+-*/%";
    if (kArithmetic.find(at(size)) == std::string_view::npos || at(size) == '\0') {
      return {Piece::Kind::Name, size};
    }
    while (size < rest_.size() && !is_space(at(size)) &&
           std::string_view("=<>!~(),;").find(at(size)) == std::string_view::npos) {
      ++size;
    }
    return {Piece::Kind::Formula, size};
  }

  Found next() const {
    const char c = at(0);
    if (c == ';') {
      return {Piece::Kind::Semicolon, 1};
    }
    if (c == '#' || rest_.starts_with("--") || rest_.starts_with("/*")) {
      return comment();
    }
    if (const std::size_t size = number_size(); size > 0) {
      return {Piece::Kind::Number, size};
    }
    if (c == '\'') {
      const std::size_t size = quoted_size(0);
      return {size > 0 ? Piece::Kind::Text : Piece::Kind::Other, std::max<std::size_t>(size, 1)};
    }
    if (name_size() > 0) {
      return name();
    }
    constexpr std::string_view kComparing = "=<>!~";
    const std::size_t comparing = std::min(rest_.find_first_not_of(kComparing), rest_.size());
    if (comparing > 0) {
      return {Piece::Kind::Comparator, comparing};
    }
    if (c == '(' && list_size() > 0) {
      return {Piece::Kind::List, list_size()};
    }
    return {Piece::Kind::Other, 1};
  }

  std::string_view rest_;
  std::vector<Piece> pieces_;
};

}  // namespace

std::vector<Piece> cut_filter(std::string_view text) {
  return Cutter(text).cut();
}

bool is_word(const Piece& piece, std::string_view word) {
  return piece.kind == Piece::Kind::Word && equals(piece.text, word);
}

std::string_view unquoted(std::string_view text) {
  const bool is_quoted = text.size() > 1 && text.front() == text.back() &&
                         (text[0] == '`' || text[0] == '"' || text[0] == '\'');
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

}  // namespace kedge::mlflow
