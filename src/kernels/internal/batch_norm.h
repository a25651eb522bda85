// Batch normalisation with what stands around it in convolutional networks, for bfloat16 images in
// channels-last memory: two kernels forward and two backward, where libtorch takes a dozen.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "core/result.h"
#include "device/fused_ops.h"
#include "device/plugin.h"

namespace kedge::kernels {

struct NormKernels {
  struct Kind {
    std::unique_ptr<device::Kernel> apply;
    std::unique_ptr<device::Kernel> gradient_sums;
    std::unique_ptr<device::Kernel> gradient;
  };

  at::Tensor counters;  // of finished blocks; zero between launches
  std::unique_ptr<device::Kernel> statistics;
  std::unique_ptr<device::Kernel> affine_of_running;
  Kind plain;
  Kind pooled;

  Kind& kind(bool is_pooled) { return is_pooled ? pooled : plain; }
};

Result<NormKernels> make_norm_kernels(device::Plugin& plugin);

bool can_norm(const device::NormStep& step);

// Differentiable in training. can_norm() must have said so.
at::Tensor batch_norm(NormKernels& kernels, const device::NormStep& step);

}  // namespace kedge::kernels
