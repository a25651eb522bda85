// How likely a language model finds the tokens of texts.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "use/language_model.h"

namespace kedge::use {

struct Passage {
  std::vector<std::int64_t> ids;  // no more than the model takes, and one
  std::int64_t scored = 0;        // the last so many, each after all that stand before it; not all
};

struct Likelihood {
  double log_prob = 0;    // natural, the sum over the scored tokens
  bool is_greedy = true;  // each of them was the likeliest
};

// In the passages' order. Passages of similar length are computed together, `batch` at once, the
// shorter ones padded behind: what comes later changes nothing. The same passages and batch give
// the same numbers. `on_scored` hears how many are done.
std::vector<Likelihood> score_passages(
    const LanguageModel& model, std::span<const Passage> passages, std::int64_t batch,
    const std::function<void(std::int64_t done)>& on_scored = [](std::int64_t) {});

}  // namespace kedge::use
