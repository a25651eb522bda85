// The training loop, over parts that others have made. It lets libtorch's exceptions fly:
// run_training() catches them once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "checkpoint/checkpoint.h"
#include "config/load.h"
#include "core/result.h"
#include "core/stopwatch.h"
#include "data/loader.h"
#include "device/step_graphs.h"
#include "dist/process_group.h"
#include "nn/loss.h"
#include "nn/model.h"
#include "track/run.h"
#include "train/evaluator.h"
#include "train/inputs.h"
#include "train/internal/agreement.h"
#include "train/internal/checkpoints.h"
#include "train/internal/data_parallel.h"
#include "train/internal/delayed_scalar.h"
#include "train/internal/ema.h"
#include "train/internal/gradients.h"
#include "train/internal/loss_scaler.h"
#include "train/internal/replicas.h"
#include "train/internal/reporter.h"
#include "train/internal/simulated_crash.h"
#include "train/internal/stop_rule.h"
#include "train/internal/trainer_state.h"
#include "train/internal/waits.h"
#include "train/meters.h"
#include "train/optimizer.h"
#include "train/schedule.h"
#include "train/session.h"

namespace kedge::train {

// What the loop works with; all of it must outlive the trainer.
struct TrainerParts {
  const config::LoadedConfig& config;
  const Preparation& preparation;
  device::ContextPtr context;
  nn::Model& model;
  const nn::Loss& loss;
  Optimizer& optimizer;
  LearningRate& learning_rate;
  data::Loader& train_loader;
  InputMaker& make_inputs;
  Evaluator* evaluator;  // null: there is nothing to validate on
  const data::Dataset* val;
  dist::ProcessGroup& group;
  track::Run& run;
  Reporter& reporter;
  std::string data_digest;
  const StopRule& stop;
  const SimulatedCrash& crash;
  device::Plugin* capture_with = nullptr;  // captures steps; null: nothing does
  Waits* waits = nullptr;                  // watches the device's part of each step
};

struct TrainSummary {
  std::int64_t epochs = 0;
  std::int64_t steps = 0;
  std::string best_metric;
  std::optional<double> best_value;
  std::int64_t best_epoch = 0;
  Metrics last;
  double seconds = 0;
  double samples_per_s = 0;  // of training alone, without validation
  double epoch_seconds_mean = 0;
  std::int64_t skipped = 0;  // samples per epoch that could not be decoded, validation included
  bool is_stopped_early = false;
};

class Trainer {
 public:
  explicit Trainer(TrainerParts parts);

  // Goes on where the checkpoint was saved. `dropped` pieces of its state are left as they are at
  // a start, to try whether that is noticed: see kStatePieces in run_training.h.
  Result<void> restore(const checkpoint::Checkpoint& saved, const std::set<std::string>& dropped);

  // Every rank takes over what rank 0 has: weights, optimizer, counters. Before run(), on all
  // ranks.
  Result<void> broadcast_state(const checkpoint::Checkpoint* restored);

  // A checkpoint of the training as it is now, at once; for verify-resume.
  Result<void> write(const Path& path);

  // The metric that decides which checkpoint is best, and whether more of it is better.
  const std::string& best_metric() const { return best_metric_; }

  bool is_more_better() const { return more_is_better(config_.checkpoint.goal, best_metric_); }

  // Why steps are done piece by piece instead of being captured as CUDA graphs; empty where nobody
  // would expect it. Nothing when they are captured.
  std::optional<std::string> why_not_captured() const;

  // What one checkpoint takes.
  std::uint64_t state_bytes();

  // Interrupted when it was asked to stop and has saved everything.
  // Without `replicas`, none are kept.
  Result<TrainSummary> run(Checkpoints& checkpoints, Replicas* replicas = nullptr);

 private:
  Result<void> train_epoch();
  Result<std::unique_ptr<data::Batch>> next_batch();

  Result<void> at_step_boundary();

  // trainer_step.cc
  bool may_read_back() const;
  Result<void> learn(const data::Batch& batch, std::int64_t micro_batches,
                     bool is_last_micro_batch);
  at::Tensor learn_on_device(std::int64_t micro_batches, bool is_last_micro_batch);
  at::Tensor compute_loss(const Inputs& inputs);
  at::Tensor mixed_loss(const Inputs& inputs);
  void draw_mixup_lambda();
  void set_rate();
  void apply_gradients();
  void reduce_gradients();
  Clearing clearing() const;
  void drop_unfinished();
  bool is_watch_step(std::int64_t step) const;
  void watch();
  Result<void> check_loss_on_host(const at::Tensor& loss);

  Result<void> take_logged_loss();
  Result<void> check_finite(const Metrics& metrics) const;
  Result<void> end_epoch();
  void record_epoch(const Metrics& metrics, bool is_best, std::optional<double> val_seconds);
  void consider_stopping(const Metrics& metrics);
  Result<Metrics> validate();
  std::vector<StateTensors> tensors();
  nlohmann::json describe(std::optional<double> score);
  Result<Snapshot> take_snapshot(std::optional<double> score);
  Result<void> save(std::optional<double> score);
  Result<void> keep_in_memory();
  std::unexpected<Error> stop(const std::string& reason);
  bool is_over() const;  // no epoch comes after the finished ones

  // Of many ranks; alone they do nothing, or what the config says.
  bool is_alone() const { return parts_.group.is_alone(); }

  void ask_others();
  Agreement::Wish take_answer();
  bool is_replica_due(std::int64_t step) const;
  bool should_stop_here();
  void set_batch_fraction(const data::Batch& batch);
  at::Tensor mean_over_ranks(const at::Tensor& loss);
  void broadcast_buffers();
  void move_counts_to_first();
  std::vector<StateTensors> joined_tensors();

  bool is_out_of_steps() const;
  bool is_stopped_early() const;

  TrainerParts parts_;
  const config::Config& config_;
  Checkpoints* checkpoints_ = nullptr;
  Replicas* replicas_ = nullptr;
  nn::NamedTensors trainable_;
  Meters meters_;
  DelayedScalar logged_loss_;
  double shown_loss_ = 0;
  Rate rate_{0};
  at::Tensor mixup_lambda_;
  std::optional<Ema> ema_;
  std::optional<LossScaler> scaler_;
  std::string best_metric_;
  TrainerState state_;
  std::optional<DataParallel> parallel_;  // with many ranks, and the next two
  std::optional<Agreement> agreement_;
  std::optional<std::string> stop_reason_;  // this rank's own
  double batch_fraction_ = 1;               // of the samples of this batch on all ranks
  std::atomic<std::int64_t> validate_us_{0};
  std::atomic<std::int64_t> save_us_{0};
  Stopwatch epoch_watch_;
  double epoch_seconds_before_ = 0;  // of this epoch, in earlier attempts
  Metrics last_metrics_;
  device::StepGraphs graphs_;
};

}  // namespace kedge::train
