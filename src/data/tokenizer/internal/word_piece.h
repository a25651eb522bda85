// WordPiece: the longest token that a word begins with, then of the rest, as BERT's models have it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/tokenizer/internal/bpe.h"
#include "data/tokenizer/internal/model.h"

namespace kedge::data {

struct WordPieceParts {
  TokenMap tokens = {};
  TokenId unknown = kNoToken;         // for a word that the tokens do not make up
  std::string prefix = "##";          // of a token that goes on with a word
  std::size_t most_characters = 100;  // a longer word is unknown
};

class WordPiece : public TokenModel {
 public:
  explicit WordPiece(WordPieceParts parts) : parts_(std::move(parts)) {}

  void encode(std::string_view piece, std::vector<TokenId>& ids) const override;

 private:
  WordPieceParts parts_;
};

}  // namespace kedge::data
