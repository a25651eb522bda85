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

  // Divides the gradients (CUDA knows no bfloat16 here: it needs no scaling) and finds out whether
  // all were finite; if not, the step must be skipped.
  void unscale(const nn::NamedTensors& parameters);

  // 1 where a gradient was not finite, for optimizers that skip by themselves.
  const at::Tensor& found_inf() const { return found_inf_; }

  // The same, read back: waits for the device.
  bool is_finite() const;

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
