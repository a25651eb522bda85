// The tokens that are cut out of a text before anything else is done to it (<|endoftext|>, <mask>).
// Shared by all threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer/internal/model.h"

namespace kedge::data {

struct AddedToken {
  std::string content;
  TokenId id = kNoToken;
  bool is_special = false;
  bool is_single_word = false;  // not where a letter or digit touches it
  bool strips_left = false;     // takes the space before it
  bool strips_right = false;
  bool is_normalized = false;  // looked for in the normalized text, itself normalized
};

// Finds tokens in a text: the leftmost, and of several that begin there the longest.
class AddedTokens {
 public:
  AddedTokens();

  // `content`: what to look for; the token's own or its normalized form. Must not be empty.
  void add(const AddedToken& token, std::string_view content);

  bool empty() const { return tokens_.empty(); }

  // Calls `take` with each stretch in order: the text between tokens with kNoToken, a token with
  // its id. `with_special`: otherwise special tokens are left in the text.
  void split(std::string_view text, bool with_special,
             const std::function<void(std::string_view, TokenId)>& take) const;

 private:
  struct Node {
    std::vector<std::pair<std::uint8_t, std::uint32_t>> next;
    std::size_t token = kNone;
  };

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  // Which token is at `from`, kNone for none.
  std::size_t longest(std::string_view text, std::size_t from, std::size_t& end) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_;
  std::array<bool, 256> begins_{};  // which bytes a token begins with
};

}  // namespace kedge::data
