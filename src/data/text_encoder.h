// Texts as encoders take them: with what the tokenizer puts around them ([CLS] and [SEP]), cut to a
// length.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data/tokenizer/tokenizer.h"

namespace kedge::data {

struct EncodedText {
  std::vector<TokenId> ids;
  std::size_t tokens = 0;  // before it was cut

  bool is_cut() const { return ids.size() < tokens; }
};

// For one thread.
class TextEncoder {
 public:
  // At most `most` tokens, the closing ones among them.
  TextEncoder(const Tokenizer& tokenizer, std::int64_t most);

  EncodedText encode(std::string_view text);

 private:
  std::size_t most_;
  std::vector<TokenId> closing_;
  TokenEncoder encoder_;
};

}  // namespace kedge::data
