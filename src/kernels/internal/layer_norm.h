// Layer normalisation of a float32 residual stream for bfloat16 products: the sum with what a block
// has added, its normalisation and the conversion in one kernel, and the same backward.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "core/result.h"
#include "device/fused_ops.h"
#include "device/plugin.h"

namespace kedge::kernels {

// A row's width is built into its kernels, so they are compiled when a width is first seen.
class LayerNormKernels {
 public:
  struct OfWidth {
    std::unique_ptr<device::Kernel> forward;
    std::unique_ptr<device::Kernel> backward;
    std::unique_ptr<device::Kernel> add_up;
  };

  explicit LayerNormKernels(device::Plugin& plugin) : plugin_(&plugin) {}

  // Throws c10::Error where they cannot be compiled.
  OfWidth& of_width(std::int64_t width);

 private:
  device::Plugin* plugin_;
  std::map<std::int64_t, OfWidth> by_width_;
};

bool can_add_norm(const device::AddNormStep& step);

// Differentiable. can_add_norm() must have said so.
device::AddNormed add_norm(LayerNormKernels& kernels, const device::AddNormStep& step);

}  // namespace kedge::kernels
