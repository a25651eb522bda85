// Scores and targets in the one layout losses work on.
#pragma once

#include <cstdint>
#include <string_view>

#include <ATen/core/Tensor.h>

#include "config/train_config.h"
#include "core/result.h"

namespace kedge::nn {

// Class numbers of this value count for nothing, as in PyTorch.
inline constexpr std::int64_t kIgnoredTarget = -100;

struct Rows {
  at::Tensor scores;   // [rows, classes]
  at::Tensor targets;  // int64 [rows], or probabilities [rows, classes]
};

// Language scores [N, T, vocab] and targets [N, T] become one row a token.
Rows as_rows(const at::Tensor& scores, const at::Tensor& targets);

}  // namespace kedge::nn
