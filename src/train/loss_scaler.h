// LossScaler keeps float16 gradients from vanishing: the loss is multiplied before the backward
// pass and the gradients divided after it, by a scale that halves when they overflow and doubles
// after a while without. As torch.amp.GradScaler.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "nn/model.h"

namespace kedge::train {

struct LossScalerOptions {
  double initial_scale = 65536;
  double growth = 2;
  double backoff = 0.5;
  std::int64_t growth_interval = 2000;  // steps without overflow before the scale grows
};

class LossScaler {
 public:
  explicit LossScaler(at::Device device, const LossScalerOptions& options = {});

  at::Tensor scale(const at::Tensor& loss) const;

  // Divides the gradients (CUDA knows no bfloat16 here: it needs no scaling) and says whether all
  // were finite; if not, the step must be skipped. Reading that answer is the one wait for the
  // device in a float16 step, as it is in PyTorch.
  bool unscale(const nn::NamedTensors& parameters);

  // Moves the scale by what unscale() found; after each step, skipped or not.
  void update();

  // "scale" and "growth_tracker", live.
  nn::NamedTensors state() const;

 private:
  LossScalerOptions options_;
  at::Tensor scale_;
  at::Tensor growth_tracker_;  // steps since the last growth or overflow
  at::Tensor found_inf_;
};

}  // namespace kedge::train
