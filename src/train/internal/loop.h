// Loop takes a training through its epochs: batches to the step, metrics to the run, validation,
// the best values, early stopping. When to save or stop is the session's. It lets libtorch's
// exceptions fly: run_training() catches them once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/result.h"
#include "core/stopwatch.h"
#include "data/loader.h"
#include "track/run.h"
#include "train/evaluator.h"
#include "train/internal/delayed_scalar.h"
#include "train/internal/reporter.h"
#include "train/internal/session.h"
#include "train/internal/simulated_crash.h"
#include "train/internal/step.h"
#include "train/preparation.h"
#include "train/schedules/schedule.h"

namespace kedge::train {

// What the loop works with; all of it must outlive the loop.
struct LoopParts {
  const config::Config& config;
  const Preparation& preparation;
  Step& step;
  Session& session;
  LearningRate& learning_rate;
  data::Loader& train_loader;
  Evaluator* evaluator;  // null: there is nothing to validate on
  const data::Dataset* val;
  track::Run& run;
  Reporter& reporter;
  const SimulatedCrash& crash;
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

// The metric that decides which checkpoint is best, where the config names none.
std::string best_metric_of(const config::Config& config, const Task& task, bool has_validation);

class Loop {
 public:
  explicit Loop(const LoopParts& parts);

  // Interrupted when it was asked to stop and has saved everything. The session must be open, with
  // before_save() as what brings the state up to date.
  Result<TrainSummary> run();

  // What was logged up to this step must be in the log before a checkpoint says it is done.
  Result<void> before_save();

 private:
  Result<void> train_epoch();
  using MicroBatches = std::vector<std::unique_ptr<data::Batch>>;
  Result<MicroBatches> next_step();
  std::vector<double> weigh(const MicroBatches& batches);
  Result<void> learn(const MicroBatches& batches);
  Result<void> log_loss(const at::Tensor& loss);
  at::Tensor mean_over_ranks(const at::Tensor& loss);
  Result<void> take_logged_loss();
  Result<void> check_finite(const Metrics& metrics) const;

  // What a validation or an epoch came to.
  struct Judged {
    std::optional<double> score;  // by the best metric
    bool is_best = false;
  };

  Judged judge(const Metrics& metrics);
  void follow(const Metrics& metrics);
  bool is_validation_due() const;
  Result<void> validate_inside_epoch();
  Result<void> end_epoch();
  void record_epoch(const Metrics& metrics, bool is_best, std::optional<double> val_seconds);
  void consider_stopping(const Metrics& metrics);
  Result<Evaluation> validate();
  bool is_over() const;  // no epoch comes after the finished ones
  bool is_out_of_steps() const;
  bool is_stopped_early() const;

  dist::ProcessGroup& data_group() const { return parts_.step.parts().strategy.data_group(); }

  LoopParts parts_;
  const config::Config& config_;
  TrainerState& state_;
  DelayedScalar logged_loss_;
  std::optional<double> shown_loss_;
  std::int64_t items_ = 0;     // samples or tokens of this epoch, in this attempt
  double batch_fraction_ = 1;  // of what counts in this batch on all ranks
  std::atomic<std::int64_t> validate_us_{0};
  Stopwatch epoch_watch_;
  double epoch_seconds_before_ = 0;  // of this epoch, in earlier attempts
  Metrics last_metrics_;
  Metrics validated_;  // what validated_step came to, in this attempt
};

}  // namespace kedge::train
