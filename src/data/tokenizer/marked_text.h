// Which tokens of a text lie in given bytes of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "data/tokenizer/tokenizer.h"

namespace kedge::data {

// Bytes of a text, from first up to second.
using ByteRange = std::pair<std::size_t, std::size_t>;

struct MarkedTokens {
  std::vector<TokenId> ids;
  std::vector<std::uint8_t> marks;  // one an id: 1 where it has a byte in a range, else 0
};

// The ids of the whole text, as `encoder` gives them, with special tokens or without. `ranges` are
// in order and do not overlap. Usage: the tokens cannot be laid over the text, as with a
// tokenizer that changes its case.
Result<MarkedTokens> encode_marked(const Tokenizer& tokenizer, TokenEncoder& encoder,
                                   std::string_view text, const std::vector<ByteRange>& ranges);

}  // namespace kedge::data
