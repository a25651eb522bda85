// Attention of one new token of each text to what is in a cache (nn/decoder.h), which takes as long
// as reading the cache does.
#pragma once

#include <array>
#include <memory>

#include <ATen/core/Tensor.h>

#include "core/result.h"
#include "device/fused_ops.h"
#include "device/plugin.h"

namespace kedge::kernels {

struct CachedAttentionKernels {
  std::array<std::unique_ptr<device::Kernel>, 4> attend;  // 1, 2, 4 and 8 heads a head of keys
  at::Tensor counters;  // of finished blocks; zero between launches
};

Result<CachedAttentionKernels> make_cached_attention_kernels(device::Plugin& plugin);

bool can_attend_cached(const device::CachedAttentionStep& step);

at::Tensor attend_cached(CachedAttentionKernels& kernels, const device::CachedAttentionStep& step);

}  // namespace kedge::kernels
