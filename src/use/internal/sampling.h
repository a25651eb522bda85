// Which token comes next, by the scores that a model gives: on the model's device, without reading
// anything back, so that it can be captured with the step.
#pragma once

#include <cstdint>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

namespace kedge::use {

// Applied in the order in which they stand here, as transformers does.
struct Sampling {
  double repetition_penalty = 1;  // divides positive scores of tokens that were there before
  double temperature = 0;         // 0: always the most likely token; nothing below counts then
  std::int64_t top_k = 0;         // only so many of the most likely; 0: all
  double top_p = 1;               // only the most likely that together have this probability
  double min_p = 0;               // only those at least so likely as this part of the likeliest
};

// The next token of each row, int64 [B], from scores [B, V]. `seen` is bool [B, V] where there is a
// repetition penalty, else undefined.
at::Tensor sample(const at::Tensor& scores_BV, const Sampling& sampling, const at::Tensor& seen_BV,
                  const at::Generator& generator);

}  // namespace kedge::use
