#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "data/tokenizer/internal/clean_text.h"
#include "data/tokenizer/internal/tokenizer_parts.h"
#include "data/tokenizer/tokenizer.h"

namespace kedge::data {
namespace {

// What BERT's decoder does to each token's text.
void tidy(std::string& text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kRules = {
      {{" .", "."},
       {" ?", "?"},
       {" !", "!"},
       {" ,", ","},
       {" ' ", "'"},
       {" n't", "n't"},
       {" 'm", "'m"},
       {" do not", " don't"},
       {" 's", "'s"},
       {" 've", "'ve"},
       {" 're", "'re"}}};
  for (const auto& [from, to] : kRules) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
  }
}

// How many bytes at the end begin a character that is not finished.
std::size_t unfinished(std::string_view bytes) {
  const auto is_continuation = [](char byte) {
    return (static_cast<std::uint8_t>(byte) & 0xC0U) == 0x80U;
  };
  for (std::size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
    const std::string_view tail = bytes.substr(bytes.size() - back);
    if (!is_continuation(tail[0])) {
      const auto lead = static_cast<std::uint8_t>(tail[0]);
      const std::size_t wanted = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
      std::string clean;  // one U+FFFD: it could still become a character
      return wanted > back && replace_invalid(tail, clean) == 1 ? back : 0;
    }
  }
  return 0;
}

}  // namespace

struct TokenDecoder::State {
  State(const Tokenizer& of, bool skips) : tokenizer(of), parts(of.parts()), skip_special(skips) {}

  void take(const TokenizerParts::Piece& piece, std::string& ready);
  void flush_bytes(std::string& ready);
  std::string without_strip(std::string text);

  Tokenizer tokenizer;  // keeps `parts`
  const TokenizerParts& parts;
  bool skip_special;
  bool is_first = true;
  std::size_t stripped = 0;  // how often what is stripped has been
  bool is_stripping = true;
  std::string held;  // bytes that are no whole characters yet
};

void TokenDecoder::State::take(const TokenizerParts::Piece& piece, std::string& ready) {
  const DecodeRules& rules = parts.decode_rules;
  const bool was_first = std::exchange(is_first, false);
  switch (rules.kind) {
    case DecodeRules::Kind::Bytes: {
      held += piece.text;
      const std::size_t keep = unfinished(held);
      replace_invalid(std::string_view(held).substr(0, held.size() - keep), ready);
      held.erase(0, held.size() - keep);
      break;
    }
    case DecodeRules::Kind::Pieces:
      if (piece.is_byte) {
        held += piece.text;
      } else {
        flush_bytes(ready);
        ready += piece.text;
      }
      break;
    case DecodeRules::Kind::Marks:
      ready = piece.text;
      if (was_first) {
        std::erase(ready, ' ');
      }
      break;
    case DecodeRules::Kind::WordParts:
      if (was_first) {
        ready = piece.text;
      } else if (piece.text.starts_with(rules.prefix)) {
        ready = piece.text.substr(rules.prefix.size());
      } else {
        ready = " " + piece.text;
      }
      if (rules.tidies) {
        tidy(ready);
      }
      break;
    case DecodeRules::Kind::Words:
      ready = was_first ? piece.text : " " + piece.text;
      break;
  }
}

// Byte tokens are a text only if all in a row are; else each is U+FFFD, as in Hugging Face's.
void TokenDecoder::State::flush_bytes(std::string& ready) {
  if (find_invalid(held) == held.size()) {
    ready += held;
  } else {
    for (std::size_t i = 0; i < held.size(); ++i) {
      ready += "\uFFFD";
    }
  }
  held.clear();
}

std::string TokenDecoder::State::without_strip(std::string text) {
  const DecodeRules& rules = parts.decode_rules;
  while (is_stripping && stripped < rules.strip_most && text.starts_with(rules.strip)) {
    text.erase(0, rules.strip.size());
    ++stripped;
  }
  is_stripping = is_stripping && text.empty();
  return text;
}

TokenDecoder::TokenDecoder(const Tokenizer& tokenizer, bool skip_special)
    : state_(std::make_unique<State>(tokenizer, skip_special)) {}

TokenDecoder::~TokenDecoder() = default;
TokenDecoder::TokenDecoder(TokenDecoder&&) noexcept = default;
TokenDecoder& TokenDecoder::operator=(TokenDecoder&&) noexcept = default;

Result<std::string> TokenDecoder::push(TokenId id) {
  const auto& pieces = state_->parts.pieces;
  if (id >= pieces.size() || !pieces[id].exists) {
    return fail(ErrorKind::Usage, fmt::format("id {} is no token of this tokenizer", id),
                "the model's vocabulary may have more rows than the tokenizer has tokens");
  }
  if (state_->skip_special && pieces[id].is_special) {
    return std::string();
  }
  std::string ready;
  state_->take(pieces[id], ready);
  return state_->without_strip(std::move(ready));
}

std::string TokenDecoder::finish() {
  std::string ready;
  if (state_->parts.decode_rules.kind == DecodeRules::Kind::Bytes) {
    replace_invalid(state_->held, ready);
  } else {
    state_->flush_bytes(ready);
  }
  ready = state_->without_strip(std::move(ready));
  *this = TokenDecoder(state_->tokenizer, state_->skip_special);
  return ready;
}

Result<std::string> decode(const Tokenizer& tokenizer, const std::vector<TokenId>& ids,
                           bool skip_special) {
  TokenDecoder decoder(tokenizer, skip_special);
  std::string text;
  for (const TokenId id : ids) {
    text += KEDGE_TRY(decoder.push(id));
  }
  return text + decoder.finish();
}

}  // namespace kedge::data
