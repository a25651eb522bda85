// A tokenizer.json, up to a zero byte, and then any bytes as text: whatever it can read encodes to
// tokens it can decode, and a second time to the same ones.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "data/tokenizer/tokenizer.h"
#include "input_file.h"

namespace {

using namespace kedge;
using namespace kedge::data;

void encode_and_back(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options) {
  TokenEncoder encoder(tokenizer, options);
  std::vector<TokenId> ids;
  encoder.encode(text, ids);
  std::vector<TokenId> again;
  encoder.encode(text, again);
  KEDGE_CHECK(ids == again, "remembered pieces have the same ids");
  KEDGE_CHECK(decode(tokenizer, ids, false).has_value(), "every id has a token");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = as_text(data, size);
  const std::size_t end = std::min(input.find('\0'), input.size());
  const auto tokenizer = Tokenizer::parse(input.substr(0, end));
  if (!tokenizer) {
    KEDGE_CHECK(!tokenizer.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  const std::string_view text = input.substr(std::min(end + 1, input.size()));
  encode_and_back(*tokenizer, text, {});
  encode_and_back(*tokenizer, text, {.special_tokens = true, .add_around = true});
  return 0;
}
