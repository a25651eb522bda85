// Everything of a training that is not a tensor and that a resumed run needs: where it is, what it
// has seen, its best values and counters. The trainer keeps it; a checkpoint's manifest holds it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/result.h"
#include "data/loader.h"
#include "train/internal/best.h"
#include "train/meters.h"

namespace kedge::train {

struct TrainerState {
  TrainerState(Best best, Best early_stop) : best(best), early_stop(early_stop) {}

  std::int64_t epoch = 0;  // finished epochs
  std::int64_t batch = 0;  // batches of the current epoch that are learnt
  // Where the next batch begins in the epoch's order. It is batch times the size of a batch, unless
  // the epoch was begun with another number of ranks.
  std::int64_t position = 0;
  std::int64_t step = 0;            // finished optimizer steps
  std::int64_t validated_step = 0;  // the last that was validated; with train.eval_steps

  std::int64_t samples = 0;  // seen in all
  std::int64_t epoch_samples = 0;
  std::int64_t epoch_skipped = 0;
  std::int64_t skipped = 0;  // most of an epoch that could not be decoded
  // Of the samples seen and their places: a sum over them, so that the ranks' sums add up to that
  // of one process.
  std::uint64_t samples_hash = 0;
  double train_seconds = 0;  // of finished epochs
  double epoch_seconds = 0;  // of the current one

  Best best;
  std::int64_t best_epoch = 0;
  Best early_stop;
  nlohmann::json history = nlohmann::json::array();  // metrics of each finished epoch
  std::vector<double> schedule;

  // Another batch has been learnt from.
  void see(const data::Batch& seen);

  void end_epoch();
  void add_to_history(const Metrics& metrics);

  nlohmann::json to_json() const;
  Result<void> restore(const nlohmann::json& json);
};

}  // namespace kedge::train
