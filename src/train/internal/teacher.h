// A trained model whose scores another learns from (distillation).
#pragma once

#include <memory>

#include "config/config.h"
#include "core/result.h"
#include "device/context.h"
#include "nn/model.h"
#include "train/inputs.h"
#include "train/preparation.h"

namespace kedge::train {

// The logarithms of the probabilities that scores / temperature mean: [rows, classes], in float32
// (float64 of such).
at::Tensor softened_scores(const at::Tensor& scores, double temperature);

// (1 - weight) loss + weight temperature^2 KL(the teacher's, the model's) over the scores that have
// a target, with what the inputs bring of a teacher. Where that is not all of its scores,
// everything else counts as one class. Asked of the device, not read back.
at::Tensor mix_with_stored(const config::DistillConfig& config, const at::Tensor& loss,
                           const at::Tensor& scores, const Inputs& inputs);

class Teacher {
 public:
  // `model` is on the device that trains, in evaluation mode, and frozen.
  Teacher(std::unique_ptr<nn::Model> model, const config::DistillConfig& config)
      : model_(std::move(model)), config_(config) {}

  // Null where the config names none. NotFound: it is not there; Usage: it scores other things than
  // the model that is trained, or wants its inputs prepared in another way.
  static Result<std::unique_ptr<Teacher>> load(const config::Config& config,
                                               const Preparation& preparation,
                                               const device::ContextPtr& context);

  // The same with the scores that the teacher has for the inputs.
  at::Tensor mix(const at::Tensor& loss, const at::Tensor& scores, const Inputs& inputs);

  nn::Model& model() { return *model_; }

 private:
  std::unique_ptr<nn::Model> model_;
  config::DistillConfig config_;
};

}  // namespace kedge::train
