// RMS normalisation for bfloat16 products: the sum with what a block has added, its normalisation
// and the conversion in one kernel, and the same backward. The residual stream and the weight are
// float32 or bfloat16, each as it is.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "device/fused_ops.h"
#include "device/plugin.h"

namespace kedge::kernels {

// A row's width and the types are built into the kernels, so they are compiled when first seen.
class RmsNormKernels {
 public:
  struct Kind {
    std::int64_t width = 0;
    bool is_bf16_stream = false;
    bool is_bf16_weight = false;

    auto operator<=>(const Kind&) const = default;
  };

  struct OfKind {
    std::unique_ptr<device::Kernel> forward;
    std::unique_ptr<device::Kernel> backward;
    std::unique_ptr<device::Kernel> add_up;
  };

  explicit RmsNormKernels(device::Plugin& plugin) : plugin_(&plugin) {}

  // Throws c10::Error where they cannot be compiled.
  OfKind& of_kind(const Kind& kind);

 private:
  device::Plugin* plugin_;
  std::map<Kind, OfKind> by_kind_;
};

bool can_add_rms_norm(const device::AddNormStep& step);

// Differentiable. can_add_rms_norm() must have said so.
device::AddNormed add_rms_norm(RmsNormKernels& kernels, const device::AddNormStep& step);

}  // namespace kedge::kernels
