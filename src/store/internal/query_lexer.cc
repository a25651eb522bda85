#include "store/internal/query_lexer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/utf8.h"
#include "store/query.h"

namespace kedge::store {
namespace {

constexpr std::size_t kMaxTokens = 16384;

bool is_bare(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  return code >= 0x80 || std::isalnum(code) != 0 ||
         std::string_view("_./-@%:+`").find(byte) != std::string_view::npos;
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> split() {
    std::vector<Token> tokens;
    while (true) {
      skip_spaces();
      if (tokens.size() == kMaxTokens) {
        return std::unexpected(query_error(column(), "the filter has too many words"));
      }
      tokens.push_back(KEDGE_TRY(next()));
      if (tokens.back().kind == TokenKind::End) {
        return tokens;
      }
    }
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }

  // Counted on from the last one asked for: counting anew would be quadratic.
  std::size_t column() {
    column_ += count_characters(text_.substr(counted_, at_ - counted_));
    counted_ = at_;
    return column_;
  }

  void skip_spaces() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
      ++at_;
    }
  }

  Result<Token> next() {
    const std::size_t here = column();
    if (at_ == text_.size()) {
      return Token{.kind = TokenKind::End, .column = here, .text = {}, .parts = {}};
    }
    if (auto symbol = find_symbol(here)) {
      return *symbol;
    }
    const char byte = text_[at_];
    if (byte == '"' || byte == '\'') {
      return read_text(here, byte);
    }
    if (is_bare(byte)) {
      return read_bare(here);
    }
    return std::unexpected(
        query_error(here, fmt::format("'{}' has no meaning here", byte),
                    "names with such characters go between backquotes, texts between quotes"));
  }

  std::optional<Token> find_symbol(std::size_t here) {
    static constexpr std::array<std::pair<std::string_view, TokenKind>, 15> kSymbols = {{
        {"==", TokenKind::Equal},
        {"!=", TokenKind::NotEqual},
        {"!~", TokenKind::NotMatch},
        {"<=", TokenKind::LessEqual},
        {">=", TokenKind::GreaterEqual},
        {"=~", TokenKind::Match},
        {"=", TokenKind::Equal},
        {"<", TokenKind::Less},
        {">", TokenKind::Greater},
        {"~", TokenKind::Match},
        {"(", TokenKind::LeftParen},
        {")", TokenKind::RightParen},
        {"[", TokenKind::LeftBracket},
        {"]", TokenKind::RightBracket},
        {",", TokenKind::Comma},
    }};
    for (const auto& [symbol, kind] : kSymbols) {
      if (rest().starts_with(symbol)) {
        at_ += symbol.size();
        return Token{.kind = kind, .column = here, .text = std::string(symbol), .parts = {}};
      }
    }
    return std::nullopt;
  }

  // Only the quote, \\, \n and \t are escapes: patterns have backslashes of their own.
  Result<Token> read_text(std::size_t here, char quote) {
    Token token{.kind = TokenKind::Text, .column = here, .text = {}, .parts = {}};
    for (++at_; at_ < text_.size(); ++at_) {
      char byte = text_[at_];
      if (byte == quote) {
        ++at_;
        return token;
      }
      const char after = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
      if (byte == '\\' && (after == quote || after == '\\' || after == 'n' || after == 't')) {
        ++at_;
        byte = after == 'n' ? '\n' : after == 't' ? '\t' : after;
      }
      token.text += byte;
    }
    return std::unexpected(query_error(here, fmt::format("the text has no closing {}", quote)));
  }

  Result<Token> read_bare(std::size_t here) {
    const std::size_t start = at_;
    Token token{.kind = TokenKind::Bare, .column = here, .text = {}, .parts = {{}}};
    while (at_ < text_.size() && is_bare(text_[at_])) {
      const char byte = text_[at_++];
      if (byte == '.') {
        token.parts.emplace_back();
      } else if (byte == '`') {
        KEDGE_TRY(read_quoted_part(here, token.parts.back()));
      } else {
        token.parts.back().text += byte;
      }
    }
    token.text = text_.substr(start, at_ - start);
    return token;
  }

  // After the first backquote; two of them are one of the name's own.
  Result<void> read_quoted_part(std::size_t here, Segment& part) {
    part.is_quoted = true;
    while (at_ < text_.size()) {
      const char byte = text_[at_++];
      if (byte == '`' && !rest().starts_with('`')) {
        return {};
      }
      at_ += byte == '`' ? 1 : 0;
      part.text += byte;
    }
    return std::unexpected(query_error(here, "the name has no closing `"));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t counted_ = 0;
  std::size_t column_ = 1;
};

}  // namespace

bool Token::is_word(std::string_view word) const {
  return kind == TokenKind::Bare && std::ranges::equal(text, word, [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == b;
         });
}

Error query_error(std::size_t column, std::string_view what, std::string hint) {
  return {ErrorKind::Usage, fmt::format("filter, column {}: {}", column, what), std::move(hint)};
}

std::string shown(const Token& token) {
  constexpr std::size_t kLongest = 60;
  if (token.kind == TokenKind::End) {
    return "the end";
  }
  if (token.text.size() > kLongest) {
    return "a long word";
  }
  return token.kind == TokenKind::Text ? fmt::format("the text \"{}\"", token.text)
                                       : fmt::format("'{}'", token.text);
}

Result<std::vector<Token>> split_query(std::string_view text) {
  if (text.size() > kMaxQueryBytes) {
    return fail(ErrorKind::Usage, fmt::format("the filter has {} bytes; {} are the limit",
                                              text.size(), kMaxQueryBytes));
  }
  if (!is_utf8(text)) {
    return fail(ErrorKind::Usage, "the filter is not UTF-8");
  }
  return Lexer(text).split();
}

}  // namespace kedge::store
