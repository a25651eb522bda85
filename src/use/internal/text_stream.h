// Goes on with texts, token by token.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/result.h"
#include "device/step_graphs.h"
#include "use/internal/sampling.h"
#include "use/language_model.h"

namespace kedge::use {

struct StreamOptions {
  Sampling sampling = {};
  std::int64_t max_tokens = 256;  // new ones, of each text
  std::uint64_t seed = 0;
  bool ends = true;  // at the model's end tokens
};

enum class Wish : std::uint8_t { More, Enough };

// Asked with each new token of a text, in order; an end token is the last, and not reported.
using OnToken = std::function<Wish(std::size_t text, std::int64_t id)>;

// All texts advance together; those that have ended are computed on, unseen. Usage: a text without
// tokens, or longer than the model takes with what is to come.
Result<void> continue_texts(const LanguageModel& model,
                            const std::vector<std::vector<std::int64_t>>& texts,
                            const StreamOptions& options, const OnToken& on_token);

}  // namespace kedge::use
