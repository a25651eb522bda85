// The training loop, over parts that others have made. It lets libtorch's exceptions fly:
// run_training() catches them once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/load.h"
#include "core/result.h"
#include "data/loader.h"
#include "dist/process_group.h"
#include "nn/loss.h"
#include "nn/model.h"
#include "track/run.h"
#include "train/best.h"
#include "train/delayed_scalar.h"
#include "train/ema.h"
#include "train/evaluator.h"
#include "train/inputs.h"
#include "train/loss_scaler.h"
#include "train/meters.h"
#include "train/optimizer.h"
#include "train/reporter.h"
#include "train/schedule.h"
#include "train/session.h"

namespace kedge::train {

// What the loop works with; all of it must outlive the trainer.
struct TrainerParts {
  const config::LoadedConfig& config;
  const Preparation& preparation;
  at::Device device;
  config::Precision precision;
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

  Result<TrainSummary> run();

 private:
  Result<void> train_epoch();
  at::Tensor compute_loss(const Inputs& inputs);
  at::Tensor mixed_loss(const Inputs& inputs);
  Result<void> learn(const Inputs& inputs, std::int64_t group_size);
  void apply_gradients();
  void reduce_gradients();
  Result<void> take_logged_loss();
  Error describe_nonfinite(const Inputs& inputs, std::string_view when) const;
  Result<void> check_finite(const Metrics& metrics) const;
  Result<void> end_epoch(double seconds);
  void record_epoch(const Metrics& metrics, double seconds, bool is_best);
  Result<void> save_if_due(bool is_best);
  void consider_stopping(const Metrics& metrics);
  Result<Metrics> validate();
  Result<void> save(const std::string& name);
  bool is_over() const;  // no epoch comes after the finished ones
  bool is_out_of_steps() const;

  TrainerParts parts_;
  const config::Config& config_;
  nn::NamedTensors trainable_;
  Meters meters_;
  DelayedScalar logged_loss_;
  double shown_loss_ = 0;
  std::optional<Ema> ema_;
  std::optional<LossScaler> scaler_;
  std::string best_metric_;
  Best best_;
  Best early_stop_;
  std::int64_t epoch_ = 0;  // finished epochs
  std::int64_t step_ = 0;   // finished optimizer steps
  std::int64_t samples_ = 0;
  std::int64_t epoch_samples_ = 0;
  std::int64_t epoch_skipped_ = 0;
  double train_seconds_ = 0;
  nlohmann::json history_ = nlohmann::json::array();
  TrainSummary summary_;
};

}  // namespace kedge::train
