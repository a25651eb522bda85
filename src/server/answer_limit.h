// The most that one request gets: an answer is made in memory, and nobody may have all of it.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/result.h"

namespace kedge::server {

inline constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 20U;

// Usage when an answer of so many bytes is too long; the hint says what to ask for instead.
Result<void> check_answer(std::size_t bytes, std::string_view hint);

}  // namespace kedge::server
