// Session is what lets a training end anywhere and go on elsewhere: its state, saving and restoring
// it, and what the ranks must decide together, to stop, to save, to keep. It knows no epochs' work
// and no gradients. It lets libtorch's exceptions fly.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "checkpoint/checkpoint.h"
#include "config/load.h"
#include "core/result.h"
#include "dist/process_group.h"
#include "nn/weights.h"
#include "track/run.h"
#include "train/internal/agreement.h"
#include "train/internal/checkpoints.h"
#include "train/internal/replicas.h"
#include "train/internal/reporter.h"
#include "train/internal/simulated_crash.h"
#include "train/internal/step.h"
#include "train/internal/stop_rule.h"
#include "train/internal/trainer_state.h"
#include "train/preparation.h"
#include "train/schedules/schedule.h"

namespace kedge::train {

// What a session works with; all of it must outlive the session.
struct SessionParts {
  const config::LoadedConfig& config;
  const Preparation& preparation;
  Step& step;
  LearningRate& learning_rate;
  dist::ProcessGroup& group;
  track::Run& run;
  Reporter& reporter;
  std::string data_digest;
  const StopRule& stop;
  const SimulatedCrash& crash;
  std::string best_metric;                   // decides which checkpoint is best
  std::optional<nn::BaseWeights> base = {};  // of Setup
};

class Session {
 public:
  explicit Session(SessionParts parts);

  // Goes on where the checkpoint was saved. `dropped` pieces of its state are left as they are at
  // a start, to try whether that is noticed: see kStatePieces in run_training.h.
  Result<void> restore(const checkpoint::Checkpoint& saved, const std::set<std::string>& dropped);

  // Every rank takes over what rank 0 has: weights, optimizer, counters. A collective, once before
  // training.
  Result<void> broadcast_state(const checkpoint::Checkpoint* restored);

  // A checkpoint of the training as it is now, at once; for verify-resume.
  Result<void> write(const Path& path);

  // What one checkpoint takes.
  std::uint64_t state_bytes();

  // Where training is saved from now on; both must outlive it. Without `replicas` none are kept.
  // `before_save` brings the state up to date.
  void open(Checkpoints& checkpoints, Replicas* replicas,
            std::function<Result<void>()> before_save);

  TrainerState& state() { return state_; }

  const std::string& best_metric() const { return parts_.best_metric; }

  bool is_more_better() const;

  // Before the work of a step, for the boundary at its end: the answers travel meanwhile.
  // `is_last` of the epoch.
  void ask_others(bool is_last);

  // The only place inside an epoch where training is saved or stops: no gradients are pending.
  // Interrupted: it stops, and everything is saved.
  Result<void> at_step_boundary(bool is_last);

  // A collective: a checkpoint of the training as it is now, with its score where it has one.
  Result<void> save(std::optional<double> score);

  // After an epoch: saves where that is wanted or due, with the epoch's score.
  Result<void> after_epoch(bool is_wanted, std::optional<double> score);

  // Between two epochs. Interrupted: it stops, and everything is saved.
  Result<void> stop_if_asked();

  // Everything is saved, and whoever started this process is told to do it again (exit 85).
  std::unexpected<Error> stop(const std::string& reason);

  // Waits until the newest save is durable; an error when it is not.
  Result<void> finish() { return checkpoints_->finish(); }

  // A collective. Every rank counts what it has seen. Before counts are used, rank 0's become those
  // of all and the others begin anew, so that the sum over the ranks stays what it is.
  void move_counts_to_first();

 private:
  bool is_alone() const { return parts_.group.is_alone(); }

  Agreement::Wish take_answer(bool is_last);
  std::optional<std::string> find_stop_reason(std::int64_t step, bool is_last) const;
  bool is_replica_due(std::int64_t step) const;
  Result<void> keep_in_memory();
  Result<Snapshot> take_snapshot(std::optional<double> score);
  std::vector<StateTensors> joined_tensors();
  nlohmann::json describe(std::optional<double> score);

  SessionParts parts_;
  const config::Config& config_;
  TrainerState state_;
  std::optional<Agreement> agreement_;      // with many ranks
  std::optional<std::string> stop_reason_;  // this rank's own
  Checkpoints* checkpoints_ = nullptr;
  Replicas* replicas_ = nullptr;
  std::function<Result<void>()> before_save_;
  std::atomic<std::int64_t> save_us_{0};
};

}  // namespace kedge::train
