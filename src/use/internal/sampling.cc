#include "use/internal/sampling.h"

#include <algorithm>
#include <limits>

#include <torch/types.h>

namespace kedge::use {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

at::Tensor penalised(const at::Tensor& scores, const at::Tensor& seen, double penalty) {
  return torch::where(seen, torch::where(scores.gt(0), scores / penalty, scores * penalty), scores);
}

// The smallest set of likeliest tokens with at least this probability.
at::Tensor nucleus(const at::Tensor& scores, double top_p) {
  const auto [sorted, order] = scores.sort(-1, /*descending=*/true);
  const at::Tensor probabilities = sorted.softmax(-1);
  const at::Tensor before = probabilities.cumsum(-1) - probabilities;
  const at::Tensor cut = sorted.masked_fill(before.ge(top_p), kNever);
  return torch::empty_like(scores).scatter_(-1, order, cut);
}

}  // namespace

at::Tensor sample(const at::Tensor& scores_BV, const Sampling& sampling, const at::Tensor& seen_BV,
                  const at::Generator& generator) {
  at::Tensor scores = scores_BV.to(at::kFloat);
  if (sampling.repetition_penalty != 1) {
    scores = penalised(scores, seen_BV, sampling.repetition_penalty);
  }
  if (sampling.temperature == 0) {
    return scores.argmax(-1);
  }
  scores = scores / sampling.temperature;
  if (sampling.top_k > 0) {
    const std::int64_t k = std::min(sampling.top_k, scores.size(-1));
    const at::Tensor least = std::get<0>(scores.topk(k, -1)).narrow(-1, k - 1, 1);
    scores = scores.masked_fill(scores.lt(least), kNever);
  }
  if (sampling.top_p < 1) {
    scores = nucleus(scores, sampling.top_p);
  }
  at::Tensor probabilities = scores.softmax(-1);
  if (sampling.min_p > 0) {
    const at::Tensor least = probabilities.amax(-1, /*keepdim=*/true) * sampling.min_p;
    probabilities = probabilities.masked_fill(probabilities.lt(least), 0);
  }
  // The first to arrive of exponential waiting times: multinomial() would wait for the device.
  const at::Tensor waits = torch::empty_like(probabilities).exponential_(1, generator);
  return (probabilities / waits).argmax(-1);
}

}  // namespace kedge::use
