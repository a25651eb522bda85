// Ema keeps an exponential moving average of a model's weights and can put it in the model's place
// for a validation.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/train_config.h"
#include "nn/model.h"

namespace kedge::train {

// The decay of the update after optimizer step `step`, the first being 1. With a decay of 0.9999
// and no warm-up, a tenth of the average is still the initial weights after 23,000 steps.
double ema_decay(const config::EmaConfig& config, std::int64_t step);

// Only trainable parameters are averaged, in float32 at least: a bfloat16 average would round most
// updates away. Buffers (BatchNorm statistics) and frozen parameters are those of the model, as
// in torch.optim.swa_utils.AveragedModel, which copies them at every update.
class Ema {
 public:
  // The average begins as the weights are now, on their device.
  Ema(const nn::NamedTensors& parameters, const nn::NamedTensors& buffers);

  // Of the updates that follow, also of those that were captured: it is read on the device.
  void set_decay(double decay);

  // average = decay * average + (1 - decay) * weights. Not while applied.
  void update();

  // Puts the average into the model, and the weights back. The weights return bit by bit.
  void apply();
  void restore();

  // The averaged model's parameters and buffers under the model's own names, live.
  nn::NamedTensors state() const;

 private:
  nn::NamedTensors all_;              // what state() gives
  std::vector<at::Tensor> weights_;   // the model's trainable parameters
  std::vector<at::Tensor> averages_;  // theirs, in the same order
  at::Tensor update_weight_;          // of the weights in an update: 1 - decay
  std::vector<at::Tensor> saved_;     // the weights while the average is applied
};

}  // namespace kedge::train
