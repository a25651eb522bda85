// Byte pair encoding: of all neighbours the pair that merges earliest is merged, the leftmost
// first, until none merges. Over bytes (GPT-2 and its kin) or over characters (SentencePiece).
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/tokenizer/internal/model.h"
#include "data/tokenizer/internal/pair_table.h"

namespace kedge::data {

struct TextHash {
  using is_transparent = void;

  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

using TokenMap = std::unordered_map<std::string, TokenId, TextHash, std::equal_to<>>;

struct BpeParts {
  PairTable pairs = PairTable(0);
  // Where a piece that is a token as a whole is that token, whatever its merges say.
  bool whole_first = false;
  TokenMap tokens = {};       // by their bytes
  bool is_over_bytes = true;  // else over characters
  std::array<TokenId, 256> bytes =
      {};                      // the token of each byte: of all text, or where a character has none
  TokenId unknown = kNoToken;  // for a character without a token, where bytes do not help
  bool fuses_unknown = false;  // several in a row are one
};

class Bpe : public TokenModel {
 public:
  explicit Bpe(BpeParts parts);
  void encode(std::string_view piece, std::vector<TokenId>& ids) const override;

 private:
  void begin(std::string_view piece, std::vector<TokenId>& symbols) const;

  BpeParts parts_;
};

}  // namespace kedge::data
