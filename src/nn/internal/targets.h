// Scores and targets in the one layout losses work on.
#pragma once

#include <ATen/core/Tensor.h>

#include "config/train_config.h"
#include "core/result.h"

namespace kedge::nn {

struct Rows {
  at::Tensor scores;   // [rows, classes]
  at::Tensor targets;  // int64 [rows], or probabilities [rows, classes]
};

// Language scores [N, T, vocab] and targets [N, T] become one row a token.
Rows as_rows(const at::Tensor& scores, const at::Tensor& targets);

}  // namespace kedge::nn
