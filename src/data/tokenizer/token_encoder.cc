#include <functional>
#include <span>
#include <string>
#include <utility>

#include "data/tokenizer/internal/clean_text.h"
#include "data/tokenizer/internal/piece_cache.h"
#include "data/tokenizer/internal/tokenizer_parts.h"
#include "data/tokenizer/tokenizer.h"

namespace kedge::data {

struct TokenEncoder::State {
  State(const Tokenizer& of, EncodeOptions how) : tokenizer(of), parts(of.parts()), options(how) {}

  void encode(std::string_view text, std::vector<TokenId>& to);
  void encode_between(std::string_view text, bool is_at_start);
  void encode_piece(std::string_view piece);

  Tokenizer tokenizer;  // keeps `parts`
  const TokenizerParts& parts;
  EncodeOptions options;
  PieceCache cache;
  std::string clean;
  std::string normalized;
  std::int64_t replaced = 0;
  std::vector<TokenId>* ids = nullptr;
  PieceSink sink = [this](std::string_view piece) { encode_piece(piece); };
};

void TokenEncoder::State::encode(std::string_view text, std::vector<TokenId>& to) {
  ids = &to;
  if (find_invalid(text) < text.size()) {
    replaced += static_cast<std::int64_t>(replace_invalid(text, clean));
    text = clean;
  }
  if (options.add_around) {
    to.insert(to.end(), parts.before.begin(), parts.before.end());
  }
  if (parts.added.empty()) {
    encode_between(text, true);
  } else {
    parts.added.split(text, options.special_tokens, [&](std::string_view stretch, TokenId id) {
      id == kNoToken ? encode_between(stretch, stretch.data() == text.data()) : to.push_back(id);
    });
  }
  if (options.add_around) {
    to.insert(to.end(), parts.after.begin(), parts.after.end());
  }
}

// The text between tokens that are looked for in the text as it is.
void TokenEncoder::State::encode_between(std::string_view text, bool is_at_start) {
  if (!parts.normalizer.changes_nothing()) {
    normalized = text;
    parts.normalizer.apply(normalized);
    text = normalized;
  }
  if (parts.added_normalized.empty()) {
    parts.splitter.split(text, is_at_start, sink);
    return;
  }
  parts.added_normalized.split(
      text, options.special_tokens, [&](std::string_view stretch, TokenId id) {
        if (id == kNoToken) {
          parts.splitter.split(stretch, is_at_start && stretch.data() == text.data(), sink);
        } else {
          ids->push_back(id);
        }
      });
}

void TokenEncoder::State::encode_piece(std::string_view piece) {
  if (piece.size() > PieceCache::kMostBytes) {
    parts.model->encode(piece, *ids);
  } else if (!cache.find(piece, *ids)) {
    const std::size_t before = ids->size();
    parts.model->encode(piece, *ids);
    cache.keep(piece, std::span(*ids).subspan(before));
  }
}

TokenEncoder::TokenEncoder(const Tokenizer& tokenizer, EncodeOptions options)
    : state_(std::make_unique<State>(tokenizer, options)) {}

TokenEncoder::~TokenEncoder() = default;
TokenEncoder::TokenEncoder(TokenEncoder&&) noexcept = default;

void TokenEncoder::encode(std::string_view text, std::vector<TokenId>& ids) {
  state_->encode(text, ids);
}

std::int64_t TokenEncoder::replaced_count() const {
  return state_->replaced;
}

}  // namespace kedge::data
