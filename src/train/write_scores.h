// `kedge score`: a teacher's scores of a training set, written once.
#pragma once

#include <cstdint>

#include "config/load.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::train {

struct WriteScoresOptions {
  Path folder = {};        // empty: distill.scores
  std::int64_t kept = -1;  // likeliest classes or tokens; 0: all; -1: all classes, 64 tokens
};

// Scores every sample of the training split with distill.teacher, prepared as for validation. What
// an earlier call of the same has written stays; the folder is resumed after any interruption, to
// the same bytes. Usage: no teacher, or the folder holds other scores.
Result<void> write_scores(const config::LoadedConfig& config, const WriteScoresOptions& options);

}  // namespace kedge::train
