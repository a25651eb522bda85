// Which token comes next, by the scores that a model gives: on the model's device, without reading
// anything back, so that it can be captured with the step. Texts that advance together each have
// settings of their own, and what is drawn for one depends on nothing but its own scores, its seed
// and its length.
#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

#include "use/answer_settings.h"

namespace kedge::use {

// What some settings need computed: the rest is left out of the step.
struct SamplingWork {
  bool penalises = false;
  bool draws = false;
  bool filters = false;
  bool tells = false;  // how likely they were

  void add(const Sampling& sampling);
};

// The settings of B texts, on their device.
class SamplingRows {
 public:
  SamplingRows(std::int64_t rows, std::int64_t vocab, at::Device device);

  // `text`: its tokens so far.
  void set(std::int64_t row, const Sampling& sampling, std::span<const std::int64_t> text);

  // That the texts with a count above 0 have gone on with these tokens.
  void see(const at::Tensor& tokens_B1, const at::Tensor& counts_B);

  // The next tokens of `count` rows from `first` on, int64 [count], by scores [count, V] after so
  // many tokens.
  at::Tensor choose(const at::Tensor& scores_BV, const at::Tensor& lengths_B,
                    const SamplingWork& work, std::int64_t first, std::int64_t count) const;

 private:
  at::Tensor penalties_B1_;
  at::Tensor temperatures_B1_;
  at::Tensor top_k_B1_;
  at::Tensor top_p_B1_;
  at::Tensor min_p_B1_;
  at::Tensor seeds_B1_;
  at::Tensor seen_BV_;  // bool; kept up only for texts with a repetition penalty
};

// Waiting times [B, V], exponentially distributed: of the tokens with probabilities p the one whose
// time / p is the shortest is drawn. A pure function of seed, length and token.
at::Tensor waiting_times(const at::Tensor& seeds_B1, const at::Tensor& lengths_B1,
                         std::int64_t vocab);

// SplitMix64's mixing of 64 bits (Steele, Lea and Flood 2014), in int64.
at::Tensor mixed_bits(const at::Tensor& bits);

}  // namespace kedge::use
