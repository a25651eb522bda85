// Step does what changes the weights: it computes the loss of a micro-batch, adds up gradients,
// lets the ranks bring them together, and after the last micro-batch applies them. What the device
// does is never read back, so that it can be captured once and replayed. It knows nothing of
// epochs, checkpoints or the run's end, and lets libtorch's exceptions fly.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/result.h"
#include "data/loader.h"
#include "device/context.h"
#include "device/step_graphs.h"
#include "nn/loss.h"
#include "nn/model.h"
#include "parallel/strategy.h"
#include "track/run.h"
#include "train/inputs.h"
#include "train/internal/ema.h"
#include "train/internal/gradients.h"
#include "train/internal/loss_scaler.h"
#include "train/internal/staging.h"
#include "train/internal/teacher.h"
#include "train/internal/waits.h"
#include "train/meters.h"
#include "train/optimizer.h"
#include "train/preparation.h"
#include "train/schedules/schedule.h"

namespace kedge::train {

// What a step works with; all of it must outlive the step.
struct StepParts {
  const config::Config& config;
  device::ContextPtr context;
  const Preparation& preparation;
  nn::Model& model;
  const nn::Loss& loss;
  Optimizer& optimizer;
  const LearningRate& learning_rate;
  InputMaker& make_inputs;
  parallel::Strategy& strategy;
  track::Run& run;                         // gets the histograms that track.watch asks for
  device::Plugin* capture_with = nullptr;  // captures steps; null: nothing does
  Waits* waits = nullptr;                  // watches the device's part of each step
  bool keeps_frozen = true;                // in its state; false: they are elsewhere
  Teacher* teacher = nullptr;              // null: the model learns from targets alone
};

// Where a micro-batch stands.
struct StepPlace {
  std::int64_t step = 0;  // finished ones
  std::int64_t epoch = 0;
  double batches_per_step = 1;  // what counts in the step by what counts in this micro-batch
  bool is_last_micro_batch = true;
  double batch_fraction = 1;  // this rank's of what counts in the micro-batch
};

class Step {
 public:
  explicit Step(const StepParts& parts);

  // The loss of one micro-batch, on the device; undefined where nothing in it counts. The last
  // micro-batch of its step changes the weights. Corrupt where the loss is known not to be finite:
  // the weights are as they were when it last was.
  Result<at::Tensor> run(const data::Batch& batch, const StepPlace& given);

  // Why steps are done piece by piece instead of being captured as CUDA graphs; empty where nobody
  // would expect it. Nothing when they are captured.
  std::optional<std::string> why_not_captured() const;

  // All tensors that a resumed run needs, live; only the generators' states are copies.
  std::vector<StateTensors> state();

  // Of the micro-batches since the last reset.
  Meters& meters() { return *meters_; }

  // Null where no averaged weights are kept.
  Ema* ema() { return ema_ ? &*ema_ : nullptr; }

  const StepParts& parts() const { return parts_; }

 private:
  bool may_read_back() const;
  at::Tensor run_on_device(const StepPlace& place);
  at::Tensor compute_loss(const Inputs& inputs);
  at::Tensor mixed_loss(const Inputs& inputs);
  at::Tensor taught_loss(const Inputs& inputs);
  at::Tensor with_aux_loss(at::Tensor loss);
  void draw_mixup_lambda();
  StepPlace weighted_on_device(StepPlace place);
  void set_rate(const StepPlace& place);
  void apply_gradients(const StepPlace& place);
  Clearing clearing() const;
  void drop_unfinished();
  bool is_watched(const StepPlace& place) const;
  void watch(const StepPlace& place);
  Result<void> check_loss_on_host(const at::Tensor& loss, const StepPlace& place);

  StepParts parts_;
  const config::Config& config_;
  nn::NamedTensors trainable_;
  std::set<std::string> frozen_;
  std::unique_ptr<Meters> meters_;
  Rate rate_{0};
  std::optional<double> aux_loss_;  // the factor of what the model adds; nothing: it adds nothing
  at::Tensor mixup_lambda_;
  at::Tensor loss_weight_;  // of a masked micro-batch's mean in that of the step
  std::optional<Ema> ema_;
  std::optional<LossScaler> scaler_;
  device::StepGraphs graphs_;
};

}  // namespace kedge::train
