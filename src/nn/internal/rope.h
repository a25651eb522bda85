// Rotary positions (Su et al. 2021): each pair of values of a head is turned by an angle that grows
// with the token's position. The pairs are a head's two halves, as in transformers.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/llama_shape.h"

namespace kedge::nn {

// Cosines and sines of positions 0, 1, 2, ...; made where they are asked for, kept there, and
// shared by a model's layers.
class Rope {
 public:
  explicit Rope(const LlamaShape& shape);

  // Float [positions, head_width / 2] each, of at least `length` positions.
  struct Table {
    at::Tensor cosines;
    at::Tensor sines;
  };

  const Table& table(std::int64_t length, const at::Tensor& like);

  // x_BHTD turned by the positions, int64 [T] or [B, T], each below `length`.
  at::Tensor turn(const at::Tensor& x_BHTD, const at::Tensor& positions, std::int64_t length);

 private:
  std::vector<double> frequencies_;
  double factor_;
  Table table_;
};

}  // namespace kedge::nn
