#include "use/internal/sampling.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <torch/types.h>

namespace kedge::use {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr auto kGolden = static_cast<std::int64_t>(0x9E3779B97F4A7C15U);

at::Tensor shifted(const at::Tensor& bits, int count) {
  const std::int64_t kept = (std::int64_t{1} << (64 - count)) - 1;  // its sign is a bit like others
  return bits.bitwise_right_shift(count).bitwise_and(kept);
}

// Scores that `settings` rule out become -inf. All of it is done in sorted order, in which each
// rule keeps a stretch from the front.
at::Tensor filtered(const at::Tensor& scores_BV, const at::Tensor& top_k_B1,
                    const at::Tensor& top_p_B1, const at::Tensor& min_p_B1) {
  auto [sorted, order] = scores_BV.sort(-1, /*descending=*/true);
  const at::Tensor least = sorted.gather(-1, top_k_B1 - 1);
  sorted = sorted.masked_fill(sorted.lt(least), kNever);
  const at::Tensor all = sorted.softmax(-1);
  const at::Tensor before = all.cumsum(-1) - all;
  sorted = sorted.masked_fill(before.ge(top_p_B1).logical_and(top_p_B1.lt(1)), kNever);
  const at::Tensor left = sorted.softmax(-1);
  sorted = sorted.masked_fill(left.lt(left.narrow(-1, 0, 1) * min_p_B1), kNever);
  return torch::empty_like(scores_BV).scatter_(-1, order, sorted);
}

}  // namespace

void SamplingWork::add(const Sampling& sampling) {
  const bool is_drawn = sampling.temperature > 0;
  penalises = penalises || sampling.repetition_penalty != 1;
  draws = draws || is_drawn;
  filters =
      filters || (is_drawn && (sampling.top_k > 0 || sampling.top_p < 1 || sampling.min_p > 0));
}

at::Tensor mixed_bits(const at::Tensor& bits) {
  at::Tensor x =
      bits.bitwise_xor(shifted(bits, 30)) * static_cast<std::int64_t>(0xBF58476D1CE4E5B9U);
  x = x.bitwise_xor(shifted(x, 27)) * static_cast<std::int64_t>(0x94D049BB133111EBU);
  return x.bitwise_xor(shifted(x, 31));
}

at::Tensor waiting_times(const at::Tensor& seeds_B1, const at::Tensor& lengths_B1,
                         std::int64_t vocab) {
  const at::Tensor key_B1 = mixed_bits(seeds_B1 + lengths_B1 * kGolden);
  const at::Tensor tokens_V = torch::arange(1, vocab + 1, seeds_B1.options());
  constexpr int kBits = 40;
  const at::Tensor uniform =
      (shifted(mixed_bits(key_B1 + tokens_V * kGolden), 64 - kBits) + 1).to(at::kFloat) *
      std::ldexp(1.0, -kBits);
  return -torch::log1p(-uniform);  // never 0: a token of probability 0 would be drawn then
}

SamplingRows::SamplingRows(std::int64_t rows, std::int64_t vocab, at::Device device) {
  const auto floats = at::TensorOptions(at::kFloat).device(device);
  const auto ids = floats.dtype(at::kLong);
  penalties_B1_ = torch::ones({rows, 1}, floats);
  temperatures_B1_ = torch::zeros({rows, 1}, floats);
  top_k_B1_ = torch::full({rows, 1}, vocab, ids);
  top_p_B1_ = torch::ones({rows, 1}, floats);
  min_p_B1_ = torch::zeros({rows, 1}, floats);
  seeds_B1_ = torch::zeros({rows, 1}, ids);
  seen_BV_ = torch::zeros({rows, vocab}, floats.dtype(at::kBool));
}

void SamplingRows::set(std::int64_t row, const Sampling& sampling,
                       std::span<const std::int64_t> text) {
  const std::int64_t vocab = seen_BV_.size(1);
  penalties_B1_[row].fill_(sampling.repetition_penalty);
  temperatures_B1_[row].fill_(sampling.temperature);
  top_k_B1_[row].fill_(sampling.top_k > 0 ? std::min(sampling.top_k, vocab) : vocab);
  top_p_B1_[row].fill_(sampling.top_p);
  min_p_B1_[row].fill_(sampling.min_p);
  seeds_B1_[row].fill_(std::bit_cast<std::int64_t>(sampling.seed));
  seen_BV_[row].zero_();
  if (sampling.repetition_penalty != 1) {
    const at::Tensor ids = torch::tensor(at::ArrayRef<std::int64_t>(text.data(), text.size()));
    seen_BV_[row].index_fill_(0, ids.to(seen_BV_.device()), true);
  }
}

void SamplingRows::see(const at::Tensor& tokens_B1, const at::Tensor& counts_B) {
  const at::Tensor was_seen = seen_BV_.gather(1, tokens_B1);
  seen_BV_.scatter_(1, tokens_B1, was_seen.logical_or(counts_B.gt(0).unsqueeze(1)));
}

at::Tensor SamplingRows::choose(const at::Tensor& scores_BV, const at::Tensor& lengths_B,
                                const SamplingWork& work, std::int64_t first,
                                std::int64_t count) const {
  const auto mine = [&](const at::Tensor& all) { return all.narrow(0, first, count); };
  at::Tensor scores = scores_BV.to(at::kFloat);
  if (work.penalises) {
    const at::Tensor penalty = mine(penalties_B1_);
    const at::Tensor lowered = torch::where(scores.gt(0), scores / penalty, scores * penalty);
    scores = torch::where(mine(seen_BV_), lowered, scores);
  }
  const at::Tensor likeliest = scores.argmax(-1);
  if (!work.draws) {
    return likeliest;
  }
  const at::Tensor temperature = mine(temperatures_B1_);
  const at::Tensor is_drawn = temperature.gt(0);
  scores = scores / torch::where(is_drawn, temperature, torch::ones_like(temperature));
  if (work.filters) {
    scores = filtered(scores, mine(top_k_B1_), mine(top_p_B1_), mine(min_p_B1_));
  }
  const at::Tensor waits = waiting_times(mine(seeds_B1_), lengths_B.unsqueeze(1), scores.size(-1));
  const at::Tensor drawn = (scores.softmax(-1) / waits).argmax(-1);
  return torch::where(is_drawn.squeeze(1), drawn, likeliest);
}

}  // namespace kedge::use
