// Ema keeps an exponential moving average of a model's weights and can put it in the model's place
// for a validation.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/model.h"

namespace kedge::train {

// Only trainable parameters are averaged, in float32 at least: a bfloat16 average would round most
// updates away. Buffers (BatchNorm statistics) and frozen parameters are those of the model, as
// in torch.optim.swa_utils.AveragedModel, which copies them at every update.
class Ema {
 public:
  // The average begins as the weights are now, on their device.
  Ema(const nn::NamedTensors& parameters, const nn::NamedTensors& buffers);

  // average = decay * average + (1 - decay) * weights. Not while applied.
  void update(double decay);

  // Puts the average into the model, and the weights back. The weights return bit by bit.
  void apply();
  void restore();

  // The averaged model's parameters and buffers under the model's own names, live.
  nn::NamedTensors state() const;

 private:
  nn::NamedTensors all_;              // what state() gives
  std::vector<at::Tensor> weights_;   // the model's trainable parameters
  std::vector<at::Tensor> averages_;  // theirs, in the same order
  std::vector<at::Tensor> saved_;     // the weights while the average is applied
};

}  // namespace kedge::train
