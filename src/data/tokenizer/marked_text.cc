#include "data/tokenizer/marked_text.h"

#include <optional>
#include <string>

#include <fmt/format.h>

#include "data/tokenizer/internal/tokenizer_parts.h"

namespace kedge::data {
namespace {

bool is_blank(char byte) {
  return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

// Where the tokens begin in the text, and where the last one ends; nothing where a token is not
// what stands there. A space that a tokenizer puts before a word, and those that an added token
// takes away, are allowed for.
std::optional<std::vector<std::size_t>> lay_over(const TokenizerParts& parts,
                                                 const std::vector<TokenId>& ids,
                                                 std::string_view text) {
  std::vector<std::size_t> begins;
  begins.reserve(ids.size() + 1);
  std::size_t at = 0;
  for (const TokenId id : ids) {
    const std::string_view piece = parts.pieces[id].text;
    const std::string_view bare = piece.substr(piece.starts_with(' ') ? 1 : 0);
    std::size_t begin = at;
    while (begin < text.size() && is_blank(text[begin]) && !text.substr(begin).starts_with(piece)) {
      ++begin;
    }
    if (text.substr(begin).starts_with(piece)) {
      at = begin + piece.size();
    } else if (text.substr(at).starts_with(bare)) {
      begin = at;
      at += bare.size();
    } else {
      return {};
    }
    begins.push_back(begin);
  }
  while (at < text.size() && is_blank(text[at])) {
    ++at;
  }
  begins.push_back(at);
  return at == text.size() ? std::optional(std::move(begins)) : std::nullopt;
}

std::vector<std::uint8_t> marks_of(const std::vector<std::size_t>& begins,
                                   const std::vector<ByteRange>& ranges) {
  std::vector<std::uint8_t> marks(begins.size() - 1);
  std::size_t range = 0;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    while (range < ranges.size() && ranges[range].second <= begins[i]) {
      ++range;
    }
    const bool is_in =
        range < ranges.size() && ranges[range].first < begins[i + 1] && begins[i] < begins[i + 1];
    marks[i] = is_in ? 1 : 0;
  }
  return marks;
}

// The text as the tokenizer's normalizer leaves it, with the same ranges of it.
std::string normalized(const Normalizer& normalizer, std::string_view text,
                       std::vector<ByteRange>& ranges) {
  std::string whole;
  std::size_t at = 0;
  const auto add_up_to = [&](std::size_t end) {
    std::string part(text.substr(at, end - at));
    normalizer.apply(part);
    whole += part;
    at = end;
    return whole.size();
  };
  for (ByteRange& range : ranges) {
    const std::size_t begin = add_up_to(range.first);
    range = {begin, add_up_to(range.second)};
  }
  add_up_to(text.size());
  return whole;
}

}  // namespace

Result<MarkedTokens> encode_marked(const Tokenizer& tokenizer, TokenEncoder& encoder,
                                   std::string_view text, const std::vector<ByteRange>& ranges) {
  const TokenizerParts& parts = tokenizer.parts();
  MarkedTokens tokens;
  encoder.encode(text, tokens.ids);
  if (const auto begins = lay_over(parts, tokens.ids, text)) {
    tokens.marks = marks_of(*begins, ranges);
    return tokens;
  }
  // Characters that NFC composes, for example: their tokens are those of the composed text.
  std::vector<ByteRange> moved = ranges;
  const std::string plain = normalized(parts.normalizer, text, moved);
  tokens.ids.clear();
  encoder.encode(plain, tokens.ids);
  if (const auto begins = lay_over(parts, tokens.ids, plain)) {
    tokens.marks = marks_of(*begins, moved);
    return tokens;
  }
  return fail(ErrorKind::Usage,
              "the tokenizer changes the text so that its tokens cannot be told from each other",
              "train on all of the text, or use the model's own tokenizer.json");
}

}  // namespace kedge::data
