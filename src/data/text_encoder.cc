#include "data/text_encoder.h"

#include <algorithm>

namespace kedge::data {
namespace {

// What stands behind every text: the end that two texts have in common beyond their own letters.
std::vector<TokenId> find_closing(TokenEncoder& around, TokenEncoder& plain) {
  std::vector<TokenId> with;
  std::vector<TokenId> without;
  around.encode("a", with);
  plain.encode("a", without);
  const auto found = std::ranges::search(with, without);
  return {found.end(), with.end()};
}

}  // namespace

TextEncoder::TextEncoder(const Tokenizer& tokenizer, std::int64_t most)
    : most_(static_cast<std::size_t>(most)), encoder_(tokenizer, {.add_around = true}) {
  TokenEncoder plain(tokenizer);
  closing_ = find_closing(encoder_, plain);
}

EncodedText TextEncoder::encode(std::string_view text) {
  EncodedText encoded;
  encoder_.encode(text, encoded.ids);
  encoded.tokens = encoded.ids.size();
  if (encoded.tokens > most_) {
    encoded.ids.resize(most_ - std::min(most_, closing_.size()));
    encoded.ids.insert(encoded.ids.end(), closing_.begin(), closing_.end());
  }
  return encoded;
}

}  // namespace kedge::data
