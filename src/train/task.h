// A Task is what a model is trained for: which fields of a batch go into it, what must come out,
// what is measured, and by which metric the best is found. It is one file in train/tasks/ that
// registers itself; the loop, the step and the evaluator know a task only through this. A task
// holds nothing: whatever differs between two trainings is in the arguments.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "core/registry.h"
#include "core/result.h"
#include "data/loader.h"
#include "data/pipeline.h"
#include "nn/model_input.h"
#include "nn/signature.h"
#include "train/inputs.h"
#include "train/meters.h"

namespace kedge::train {

// One row of the table of predictions.
struct Prediction {
  std::int64_t index = 0;  // in the data set
  std::int64_t label = 0;
  std::vector<float> scores;  // probabilities per class
  data::Image image;          // as the model saw it, before normalisation
};

struct MeterOptions {
  device::ContextPtr context = std::make_shared<const device::Context>();
  bool has_mixed_targets = false;  // scores are judged by no one label
  bool with_confusion = false;     // where the task has one
  double beta = 0.1;               // loss.beta, for tasks that measure rewards
};

class Task {
 public:
  virtual ~Task() = default;

  // Whether it is for samples like these. At most one task is.
  virtual bool fits(const data::DatasetInfo& info) const = 0;

  // What a model for the data takes and gives, after the pipeline. Usage errors name the key of the
  // config that does not go with the data.
  virtual Result<nn::Signature> find_signature(const config::Config& config,
                                               const data::Dataset& dataset,
                                               const data::Pipeline& pipeline) const = 0;

  virtual Result<Normalise> find_normalise(const config::Config& /*config*/,
                                           const data::DatasetInfo& /*info*/,
                                           const nn::Signature& /*signature*/) const {
    return Normalise{};
  }

  // Inputs and targets out of the fields that the maker has staged, on the device alone.
  virtual Inputs make_inputs(const InputMaker& maker) const = 0;

  // What is counted per second, and how many of them a batch has.
  virtual std::string_view item_name() const { return "samples"; }

  virtual std::int64_t count_items(const data::Batch& batch) const { return batch.count; }

  virtual std::unique_ptr<Meters> make_meters(const nn::Signature& signature,
                                              const MeterOptions& options) const = 0;

  // Whether meters and predictions look at the scores: a model with many need not hold them then.
  virtual bool needs_scores() const { return true; }

  // What the loss and the meters get in place of the model's scores; undefined: the scores
  // themselves. Asked only of models that end in a linear layer; inside a captured step too.
  virtual at::Tensor judge(const nn::Head& /*head*/, const Inputs& /*inputs*/) const { return {}; }

  virtual bool judges_itself() const { return false; }

  // Of validation; decides which checkpoint is best where the config names no metric.
  virtual std::string_view best_metric() const { return "val/loss"; }

  // Of the batch's first `count` samples; none where the task has no such table.
  virtual std::vector<Prediction> predictions(const InputMaker& /*maker*/,
                                              const data::Batch& /*batch*/,
                                              const at::Tensor& /*scores*/,
                                              std::int64_t /*count*/) const {
    return {};
  }
};

using Tasks = Registry<Task>;

}  // namespace kedge::train
