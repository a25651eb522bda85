#include "graphql/internal/lexer.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace kedge::graphql {
namespace {

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

void append_utf8(std::string& out, unsigned code) {
  const auto add = [&](unsigned byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0U | (code >> 6U));
    add(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    add(0xE0U | (code >> 12U));
    add(0x80U | ((code >> 6U) & 0x3FU));
    add(0x80U | (code & 0x3FU));
  } else {
    add(0xF0U | (code >> 18U));
    add(0x80U | ((code >> 12U) & 0x3FU));
    add(0x80U | ((code >> 6U) & 0x3FU));
    add(0x80U | (code & 0x3FU));
  }
}

std::size_t count_indent(std::string_view line) {
  return std::min(line.find_first_not_of(" \t"), line.size());
}

// The indentation that all lines but the first have is not part of a block string, nor are blank
// lines at its ends.
std::string unindent(std::string_view block) {
  std::vector<std::string_view> lines;
  while (true) {
    const auto end = block.find('\n');
    lines.push_back(block.substr(0, end));
    if (lines.back().ends_with('\r')) {
      lines.back().remove_suffix(1);
    }
    if (end == std::string_view::npos) {
      break;
    }
    block.remove_prefix(end + 1);
  }
  std::size_t shared = std::string_view::npos;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (count_indent(lines[i]) < lines[i].size()) {
      shared = std::min(shared, count_indent(lines[i]));
    }
  }
  for (std::size_t i = 1; i < lines.size() && shared != std::string_view::npos; ++i) {
    lines[i].remove_prefix(std::min(shared, lines[i].size()));
  }
  const auto is_blank = [](std::string_view line) { return count_indent(line) == line.size(); };
  const auto first = std::ranges::find_if_not(lines, is_blank);
  auto last = lines.end();
  while (last != first && is_blank(*(last - 1))) {
    --last;
  }
  return fmt::format("{}", fmt::join(first, last, "\n"));
}

}  // namespace

Error Lexer::error_at(std::size_t at, std::string_view message) const {
  const std::string_view before = text_.substr(0, std::min(at, text_.size()));
  const auto line = std::ranges::count(before, '\n') + 1;
  const auto newline = before.rfind('\n');
  const std::size_t column =
      newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return {ErrorKind::Usage,
          fmt::format("Syntax Error: {} at line {}, column {}.", message, line, column)};
}

void Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    if (text_[at_] == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (std::string_view(" \t\r\n,").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    } else if (text_.substr(at_, 3) == "\xEF\xBB\xBF") {
      at_ += 3;
    } else {
      return;
    }
  }
}

Result<Token> Lexer::next() {
  skip_blanks();
  const std::size_t begin = at_;
  if (at_ == text_.size()) {
    return Token{.at = begin};
  }
  const char c = text_[at_];
  if (is_name_start(c)) {
    while (at_ < text_.size() && (is_name_start(text_[at_]) || is_digit(text_[at_]))) {
      ++at_;
    }
    return Token{Token::Kind::Name, std::string(text_.substr(begin, at_ - begin)), begin};
  }
  if (is_digit(c) || c == '-') {
    return take_number();
  }
  if (c == '"') {
    return text_.substr(at_, 3) == "\"\"\"" ? take_block() : take_string();
  }
  if (text_.substr(at_, 3) == "...") {
    at_ += 3;
    return Token{Token::Kind::Punctuator, "...", begin};
  }
  if (std::string_view("!$&()[]{}:=@|").find(c) != std::string_view::npos) {
    ++at_;
    return Token{Token::Kind::Punctuator, std::string(1, c), begin};
  }
  return std::unexpected(error_at(begin, "Unexpected character"));
}

Result<Token> Lexer::take_number() {
  const std::size_t begin = at_;
  const auto take_digits = [&] {
    const std::size_t first = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) {
      ++at_;
    }
    return at_ > first;
  };
  const auto is_at = [&](std::string_view any) {
    return at_ < text_.size() && any.find(text_[at_]) != std::string_view::npos;
  };
  at_ += is_at("-") ? 1 : 0;
  bool is_good = take_digits();
  bool is_float = false;
  if (is_good && is_at(".") && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])) {
    ++at_;
    is_float = take_digits();
  }
  if (is_good && is_at("eE")) {
    ++at_;
    at_ += is_at("+-") ? 1 : 0;
    is_good = take_digits();
    is_float = true;
  }
  if (!is_good || (at_ < text_.size() && (is_name_start(text_[at_]) || text_[at_] == '.'))) {
    return std::unexpected(error_at(begin, "Invalid number"));
  }
  return Token{is_float ? Token::Kind::Float : Token::Kind::Int,
               std::string(text_.substr(begin, at_ - begin)), begin};
}

Result<unsigned> Lexer::take_hex() {
  unsigned code = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char c = at_ < text_.size() ? text_[at_] : '?';
    const char lower = static_cast<char>(c | 0x20);
    if (is_digit(c)) {
      code = code * 16 + static_cast<unsigned>(c - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      code = code * 16 + static_cast<unsigned>(lower - 'a' + 10);
    } else {
      return std::unexpected(error_at(at_, "Invalid Unicode escape"));
    }
  }
  return code;
}

// Behind the backslash.
Result<void> Lexer::take_escape(std::string& out) {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const char c = at_ < text_.size() ? text_[at_] : '?';
  if (const auto found = kNames.find(c); found != std::string_view::npos) {
    out += kMeanings[found];
    ++at_;
    return {};
  }
  if (c != 'u') {
    return std::unexpected(error_at(at_, "Invalid escape in a string"));
  }
  ++at_;
  unsigned code = KEDGE_TRY(take_hex());
  if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_, 2) == "\\u") {
    at_ += 2;
    const unsigned low = KEDGE_TRY(take_hex());
    if (low < 0xDC00 || low > 0xDFFF) {
      return std::unexpected(error_at(at_, "Invalid Unicode escape"));
    }
    code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
  }
  if (code >= 0xD800 && code <= 0xDFFF) {
    return std::unexpected(error_at(at_, "Invalid Unicode escape"));
  }
  append_utf8(out, code);
  return {};
}

Result<Token> Lexer::take_string() {
  Token token{Token::Kind::String, {}, at_};
  ++at_;
  while (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '"') {
    if (text_[at_] == '\\') {
      ++at_;
      KEDGE_TRY(take_escape(token.text));
    } else {
      token.text += text_[at_++];
    }
  }
  if (at_ == text_.size() || text_[at_] != '"') {
    return std::unexpected(error_at(token.at, "Unterminated string"));
  }
  ++at_;
  return token;
}

Result<Token> Lexer::take_block() {
  const std::size_t begin = at_;
  at_ += 3;
  std::string raw;
  while (at_ < text_.size() && text_.substr(at_, 3) != "\"\"\"") {
    if (text_.substr(at_, 4) == "\\\"\"\"") {
      raw += "\"\"\"";
      at_ += 4;
    } else {
      raw += text_[at_++];
    }
  }
  if (at_ >= text_.size()) {
    return std::unexpected(error_at(begin, "Unterminated string"));
  }
  at_ += 3;
  return Token{Token::Kind::String, unindent(raw), begin};
}

}  // namespace kedge::graphql
