#include "nn/internal/rope.h"

#include <algorithm>

#include <torch/types.h>
#include <torch/utils.h>

namespace kedge::nn {

Rope::Rope(const LlamaShape& shape)
    : frequencies_(rope_frequencies(shape)), factor_(rope_attention_factor(shape.rope)) {}

// Angles in float32, as transformers computes them; in double where the model is.
const Rope::Table& Rope::table(std::int64_t length, const at::Tensor& like) {
  const at::ScalarType type = like.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor& had = table_.cosines;
  if (!had.defined() || had.size(0) < length || had.device() != like.device() ||
      had.scalar_type() != type) {
    const torch::NoGradGuard no_grad;
    const at::Tensor frequencies = torch::tensor(frequencies_, at::kDouble).to(type);
    const at::Tensor angles =
        torch::outer(torch::arange(length, frequencies.options()), frequencies);
    table_ = {(angles.cos() * factor_).to(like.device()),
              (angles.sin() * factor_).to(like.device())};
  }
  return table_;
}

at::Tensor Rope::turn(const at::Tensor& x_BHTD, const at::Tensor& positions, std::int64_t length) {
  const Table& all = table(length, x_BHTD);
  const auto chosen = [&](const at::Tensor& values) {
    at::Tensor of_T = torch::embedding(values, positions);
    return (of_T.dim() == 3 ? of_T.unsqueeze(1) : of_T).to(x_BHTD.scalar_type());
  };
  const at::Tensor cosines = chosen(all.cosines);
  const at::Tensor sines = chosen(all.sines);
  const std::vector<at::Tensor> halves = x_BHTD.chunk(2, -1);
  return torch::cat(
      {halves[0] * cosines - halves[1] * sines, halves[1] * cosines + halves[0] * sines}, -1);
}

}  // namespace kedge::nn
