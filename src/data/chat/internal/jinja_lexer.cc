#include "data/chat/internal/jinja_lexer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

#include <fmt/format.h>
#include <utf8proc.h>

#include "data/chat/internal/python_text.h"

namespace kedge::data::jinja {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<std::uint8_t>(c) >= 0x80;
}

// \r\n and \r become \n, and one at the very end goes away, as in Jinja.
std::string with_plain_lines(std::string_view source) {
  std::string text;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const bool is_pair = source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n';
    if (!is_pair) {
      text += source[i] == '\r' ? '\n' : source[i];
    }
  }
  if (text.ends_with('\n')) {
    text.pop_back();
  }
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size()) {
      KEDGE_TRY(read_data());
    }
    add(Token::Kind::End, "");
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return std::string_view(source_).substr(at_); }

  bool is_at(std::string_view text) const { return rest().starts_with(text); }

  char sign() const { return at_ < source_.size() ? source_[at_] : '\0'; }

  void advance(std::size_t count) {
    const std::string_view passed = rest().substr(0, count);
    line_ += static_cast<int>(std::ranges::count(passed, '\n'));
    line_starts_ = passed.empty() ? line_starts_ : passed.back() == '\n';
    at_ += count;
  }

  void add(Token::Kind kind, std::string text) {
    tokens_.push_back({kind, std::move(text), line_});
  }

  // Printed text up to the next tag, and that tag.
  Result<void> read_data() {
    std::size_t end = source_.find('{', at_);
    while (end != std::string::npos && !is_tag(end)) {
      end = source_.find('{', end + 1);
    }
    const std::string_view text = rest().substr(0, end == std::string::npos ? end : end - at_);
    if (end == std::string::npos) {
      add_data(text);
      advance(text.size());
      return {};
    }
    const char kind = source_[end + 1];
    const char how = end + 2 < source_.size() ? source_[end + 2] : '\0';
    add_data(trimmed_before_tag(text, kind, how));
    advance(text.size() + 2);
    advance(how == '-' || (how == '+' && kind != '#') ? 1 : 0);
    return kind == '#' ? skip_comment() : kind == '%' ? read_block() : read_print();
  }

  bool is_tag(std::size_t at) const {
    const char next = at + 1 < source_.size() ? source_[at + 1] : '\0';
    return next == '{' || next == '%' || next == '#';
  }

  void add_data(std::string_view text) {
    if (!text.empty()) {
      add(Token::Kind::Data, std::string(text));
    }
  }

  std::string_view trimmed_before_tag(std::string_view text, char kind, char how) const {
    if (how == '-') {
      return strip_right(text);
    }
    if (how == '+' || kind == '{') {
      return text;
    }
    const std::size_t line = text.rfind('\n') + 1;  // npos + 1 is 0
    const bool begins_line = line > 0 || line_starts_;
    return begins_line && strip(text.substr(line)).empty() ? text.substr(0, line) : text;
  }

  // After a tag that prints nothing: the line's end goes away, all white space after a '-'.
  void skip_after(char how) {
    if (how == '-') {
      advance(rest().size() - strip_left(rest()).size());
    } else if (how != '+' && sign() == '\n') {
      advance(1);
    }
  }

  Result<void> skip_comment() {
    const std::size_t end = rest().find("#}");
    if (end == std::string_view::npos) {
      return fail_at(line_, "a comment '{#' is not closed");
    }
    const char how = end > 0 ? rest()[end - 1] : '\0';
    advance(end + 2);
    skip_after(how);
    return {};
  }

  Result<void> read_block() {
    if (const std::size_t length = tag_length("raw", rest()); length > 0) {
      return read_raw(length);
    }
    add(Token::Kind::BlockBegin, "");
    const char how = KEDGE_TRY(read_inside("%}"));
    add(Token::Kind::BlockEnd, "");
    skip_after(how);
    return {};
  }

  Result<void> read_print() {
    add(Token::Kind::PrintBegin, "");
    const char how = KEDGE_TRY(read_inside("}}"));
    add(Token::Kind::PrintEnd, "");
    if (how == '-') {
      skip_after(how);
    }
    return {};
  }

  // Of " raw -%}" behind "{%", 0 where it is another tag.
  static std::size_t tag_length(std::string_view name, std::string_view text) {
    std::string_view rest = strip_left(text);
    if (!rest.starts_with(name)) {
      return 0;
    }
    rest = strip_left(rest.substr(name.size()));
    rest.remove_prefix(rest.starts_with('-') || rest.starts_with('+') ? 1 : 0);
    return rest.starts_with("%}") ? text.size() - rest.size() + 2 : 0;
  }

  Result<void> read_raw(std::size_t length) {
    const int line = line_;
    const char how = source_[at_ + length - 3];
    advance(length);
    skip_after(how);
    for (std::size_t end = rest().find("{%"); end != std::string_view::npos;
         end = rest().find("{%", end + 1)) {
      const std::string_view tag = rest().substr(end + 2);
      const char before = tag.starts_with('-') || tag.starts_with('+') ? tag[0] : '\0';
      const std::size_t skipped = before == '\0' ? 0 : 1;
      const std::size_t tag_size = tag_length("endraw", tag.substr(skipped));
      if (tag_size > 0) {
        add_data(trimmed_before_tag(rest().substr(0, end), '%', before));
        const std::size_t whole = end + 2 + skipped + tag_size;
        const char after = rest()[whole - 3];
        advance(whole);
        skip_after(after);
        return {};
      }
    }
    return fail_at(line, "{% raw %} is not closed");
  }

  // Up to and with `end`; the sign before it.
  Result<char> read_inside(std::string_view end) {
    std::string open;  // brackets: within them no tag ends
    const int line = line_;
    while (true) {
      advance(rest().size() - strip_left(rest()).size());
      if (at_ >= source_.size()) {
        return fail_at(line, fmt::format("a tag is not closed by '{}'", end));
      }
      const bool has_sign = sign() == '-' || sign() == '+';
      if (open.empty() && rest().substr(has_sign ? 1 : 0).starts_with(end)) {
        const char how = has_sign ? sign() : '\0';
        advance(end.size() + (has_sign ? 1 : 0));
        return how;
      }
      KEDGE_TRY(read_token(open));
    }
  }

  Result<void> read_token(std::string& open) {
    const char c = sign();
    if (c == '\'' || c == '"') {
      return read_literal(c);
    }
    if (is_digit(c)) {
      read_number();
      return {};
    }
    if (is_name_start(c)) {
      std::size_t length = 1;
      while (length < rest().size() &&
             (is_name_start(rest()[length]) || is_digit(rest()[length]))) {
        ++length;
      }
      add(Token::Kind::Name, std::string(rest().substr(0, length)));
      advance(length);
      return {};
    }
    return read_operator(open);
  }

  Result<void> read_operator(std::string& open) {
    constexpr std::array<std::string_view, 26> kOperators = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    const auto* const found =
        std::ranges::find_if(kOperators, [this](std::string_view text) { return is_at(text); });
    if (found == kOperators.end()) {
      return fail_at(line_, fmt::format("unexpected character '{}'", characters_at()));
    }
    constexpr std::string_view kOpening = "([{";
    constexpr std::string_view kClosing = ")]}";
    if (kOpening.contains(*found)) {
      open += found->front();
    } else if (const auto kind = kClosing.find(*found); kind != std::string_view::npos) {
      if (open.empty() || open.back() != kOpening[kind]) {
        return fail_at(line_, fmt::format("'{}' closes nothing", *found));
      }
      open.pop_back();
    }
    add(Token::Kind::Operator, std::string(*found));
    advance(found->size());
    return {};
  }

  std::string characters_at() const { return std::string(rest().substr(0, 1)); }

  void read_number() {
    std::size_t length = 0;
    bool is_real = false;
    const auto take_digits = [&] {
      while (length < rest().size() && (is_digit(rest()[length]) || rest()[length] == '_')) {
        ++length;
      }
    };
    take_digits();
    if (length + 1 < rest().size() && rest()[length] == '.' && is_digit(rest()[length + 1])) {
      is_real = true;
      ++length;
      take_digits();
    }
    if (length < rest().size() && (rest()[length] == 'e' || rest()[length] == 'E')) {
      const bool has_sign =
          length + 1 < rest().size() && (rest()[length + 1] == '-' || rest()[length + 1] == '+');
      const std::size_t digit = length + (has_sign ? 2 : 1);
      if (digit < rest().size() && is_digit(rest()[digit])) {
        is_real = true;
        length = digit;
        take_digits();
      }
    }
    std::string text(rest().substr(0, length));
    std::erase(text, '_');
    add(is_real ? Token::Kind::Real : Token::Kind::Integer, std::move(text));
    advance(length);
  }

  Result<void> read_literal(char quote) {
    const int line = line_;
    std::string text;
    std::size_t i = 1;
    while (i < rest().size() && rest()[i] != quote) {
      if (rest()[i] != '\\') {
        text += rest()[i++];
        continue;
      }
      if (i + 1 >= rest().size()) {
        break;
      }
      i += KEDGE_TRY(unescape(rest().substr(i), text));
    }
    if (i >= rest().size()) {
      return fail_at(line, "a text in quotes is not closed");
    }
    tokens_.push_back({Token::Kind::Text, std::move(text), line});
    advance(i + 1);
    return {};
  }

  // The character that the escape at the start of `text` means; how many bytes that took.
  Result<std::size_t> unescape(std::string_view text, std::string& out) const {
    constexpr std::string_view kLetters = "\\'\"abfnrtv\n";
    constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";
    const char letter = text[1];
    if (const auto at = kLetters.find(letter); at != std::string_view::npos) {
      out += at < kMeanings.size() ? std::string(1, kMeanings[at]) : "";
      return 2;
    }
    const std::size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    const bool is_octal = letter >= '0' && letter <= '7';
    if (digits == 0 && !is_octal) {
      out += text.substr(0, 2);
      return 2;
    }
    std::uint32_t code = 0;
    std::size_t i = is_octal ? 1 : 2;
    const std::size_t end = is_octal ? 4 : 2 + digits;
    while (i < end && i < text.size() && std::isxdigit(static_cast<unsigned char>(text[i])) != 0 &&
           (!is_octal || (text[i] >= '0' && text[i] <= '7'))) {
      const char c = text[i++];
      const int value = is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10;
      code = code * (is_octal ? 8 : 16) + static_cast<std::uint32_t>(value);
    }
    if ((!is_octal && i < end) || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      return fail_at(line_, fmt::format("'{}' is no escape of a character", text.substr(0, i)));
    }
    std::uint8_t bytes[4] = {};
    const auto count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes);
    out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
    return i;
  }

  std::string source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starts_ = true;  // what was read last ended a line
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> cut_into_tokens(std::string_view source) {
  return Lexer(with_plain_lines(source)).run();
}

std::unexpected<Error> fail_at(int line, std::string_view what, std::string hint) {
  return fail(ErrorKind::Usage, fmt::format("line {}: {}", line, what), std::move(hint));
}

}  // namespace kedge::data::jinja
