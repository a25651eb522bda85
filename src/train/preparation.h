// What training, evaluation and prediction have in common: a device, a model and the way its
// inputs are prepared.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <nlohmann/json_fwd.hpp>

#include "config/load.h"
#include "core/result.h"
#include "data/dataset.h"
#include "data/pipeline.h"
#include "device/context.h"
#include "nn/model.h"
#include "train/inputs.h"
#include "train/task.h"

namespace kedge::train {

// Everything that must be the same when a model is used as when it was trained.
struct Preparation {
  std::string task_name;
  std::shared_ptr<const Task> task;
  nn::Signature signature;
  std::vector<std::string> class_names;
  std::vector<std::string> eval_steps;
  Normalise normalise;

  // As checkpoints and exported models hold it. from_json() reads what older programs wrote too;
  // Corrupt where something is missing.
  nlohmann::json to_json() const;
  static Result<Preparation> from_json(const nlohmann::json& json);
};

// Threads, determinism and TF32 as the config says, for the whole process: before the first
// operation of libtorch's, and by one training at a time.
void apply_compute_settings(const config::Config& config);

// Where the config wants to compute. On a GPU this thread's work goes to a stream that can be
// captured, and kernels of our own help unless train.fused is off.
Result<device::Context> make_context(const config::TrainConfig& config);

// From the data and the config: the task that is for such samples, what a model for it takes after
// the eval transforms, and gives, classes, normalisation.
Result<Preparation> prepare(const config::Config& config, const data::Dataset& dataset,
                            const data::Pipeline& eval_pipeline);

// Early stopping, the best checkpoint and plateau watch metrics by name; a name that this training
// never reports is a Usage error.
Result<void> check_metric_names(const config::Config& config, const Preparation& preparation,
                                bool has_validation);

// 4-D weights in NHWC order, where the convolutions are fastest.
void use_channels_last(const nn::Model& model);

// Loader threads when the config leaves it open: the CPU's compute threads need the cores.
std::int64_t loader_workers(std::int64_t wish, at::Device device);

}  // namespace kedge::train
