// What turns a piece of text that no token crosses into ids. Shared by all threads.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace kedge::data {

using TokenId = std::uint32_t;
inline constexpr TokenId kNoToken = 0xFFFFFFFF;

class TokenModel {
 public:
  TokenModel() = default;
  virtual ~TokenModel() = default;
  TokenModel(const TokenModel&) = delete;
  TokenModel& operator=(const TokenModel&) = delete;

  // Appends the ids of `piece`, which is UTF-8 and not empty.
  virtual void encode(std::string_view piece, std::vector<TokenId>& ids) const = 0;
};

}  // namespace kedge::data
