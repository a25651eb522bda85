// Runs a model over a data set without changing it: metrics, confusion matrix, some predictions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/config.h"
#include "core/result.h"
#include "data/loader.h"
#include "device/step_graphs.h"
#include "dist/process_group.h"
#include "nn/loss.h"
#include "nn/model.h"
#include "parallel/strategy.h"
#include "train/inputs.h"
#include "train/meters.h"
#include "train/preparation.h"

namespace kedge::train {

struct Evaluation {
  Metrics metrics;
  std::vector<std::vector<std::int64_t>> confusion;  // empty unless asked for
  std::vector<Prediction> predictions;
  std::int64_t skipped = 0;  // samples that could not be decoded
};

// For one thread, the one that trains. libtorch's exceptions fly through it.
class Evaluator {
 public:
  struct Options {
    device::ContextPtr context = std::make_shared<const device::Context>();
    bool with_confusion = false;
    std::int64_t prediction_count = 0;
    double beta = 0.1;  // loss.beta
    device::Plugin* capture_with =
        nullptr;  // captures what is done for a batch; null: nothing does
    // Asked for the scores where other ranks have parts of the model; null: the model is.
    parallel::Strategy* strategy = nullptr;
    // Asked after each batch: a reason to give up (the result is then Interrupted, with it).
    std::function<std::optional<std::string>()> should_stop = {};
  };

  // All references must outlive the evaluator.
  Evaluator(data::Loader& loader, InputMaker& make_inputs, const nn::Loss& loss,
            const Preparation& preparation, Options options);

  // A collective: every rank of `group` calls it with a loader of its own samples, and all get the
  // metrics of all; the table of predictions is of this rank's samples. Metric names begin with
  // `prefix`, e.g. "val/". The model is in evaluation mode afterwards and otherwise as it was. A
  // sample that cannot be decoded is the loader's error, unless it skips such.
  Result<Evaluation> run(nn::Model& model, const std::string& prefix, dist::ProcessGroup& group);

 private:
  at::Tensor measure(nn::Model& model);

  data::Loader& loader_;
  InputMaker& make_inputs_;
  const nn::Loss& loss_;
  const Preparation& preparation_;
  Options options_;
  std::unique_ptr<Meters> meters_;  // captured work adds to these very tensors
  device::StepGraphs graphs_;
};

}  // namespace kedge::train
