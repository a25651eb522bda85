// What a tokenizer is made of, once its file has been read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/tokenizer/internal/added_tokens.h"
#include "data/tokenizer/internal/bpe.h"
#include "data/tokenizer/internal/decode_rules.h"
#include "data/tokenizer/internal/normalizer.h"
#include "data/tokenizer/internal/splitter.h"

namespace kedge::data {

struct TokenizerParts {
  // What an id becomes in text.
  struct Piece {
    std::string text;
    bool exists = false;
    bool is_special = false;
    bool is_byte = false;  // one byte of a character that has no token
  };

  std::string digest;
  AddedTokens added;             // looked for in the text as it is
  Normalizer normalizer;         // of what is between those
  AddedTokens added_normalized;  // looked for in what that made
  Splitter splitter;
  std::unique_ptr<const TokenModel> model;
  std::vector<TokenId> before;  // what is put around a text where it is asked for
  std::vector<TokenId> after;
  DecodeRules decode_rules;
  std::vector<Piece> pieces;  // by id
  TokenMap names;             // ids by the tokens' texts in the file
};

}  // namespace kedge::data
