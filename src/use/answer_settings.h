// How a language model's answers are made: what `kedge generate`, `chat` and `serve` can be told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"

namespace kedge::use {

// Applied in the order in which they stand here, as transformers does.
struct Sampling {
  double repetition_penalty = 1;  // divides positive scores of tokens that were there before
  double temperature = 0;         // 0: always the most likely token; nothing below counts then
  std::int64_t top_k = 0;         // only so many of the most likely; 0: all
  double top_p = 1;               // only the most likely that together have this probability
  double min_p = 0;               // only those at least so likely as this part of the likeliest
  std::uint64_t seed = 0;
};

struct AnswerSettings {
  Sampling sampling = {};
  std::int64_t max_tokens = 256;        // new ones
  std::vector<std::string> stops = {};  // texts that end an answer, and are no part of it
};

// Usage names the option whose value is out of its range.
Result<void> check_settings(const AnswerSettings& settings);

}  // namespace kedge::use
