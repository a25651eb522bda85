#include "kernels/internal/adamw8bit.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <torch/types.h>

#include "kernels/internal/cuda_source.h"
#include "kernels/internal/kernel_cache.h"

namespace kedge::kernels {
namespace {

constexpr unsigned kMomentThreads = 256;
constexpr std::int64_t kMoments = 256;            // that share a greatest value
constexpr std::int64_t kMostMomentBlocks = 4096;  // then each does several: tables are read once

// A thread has one value of a block.
constexpr char kAdamw8bitSource[] = R"cuda(
struct Table {
  float entries[256];
  float middles[256];  // the last one is not used
};

__device__ __forceinline__ void load_table(Table& table, const float* from) {
  const int i = threadIdx.x;
  table.entries[i] = from[i];
  table.middles[i] = i < 255 ? (from[i] + from[i + 1]) / 2.0f : 0.0f;
}

// The number of middles below the value: the nearest entry's.
__device__ __forceinline__ int nearest(const Table& table, float value) {
  int at = 0;
#pragma unroll
  for (int half = 128; half > 0; half /= 2) {
    at += table.middles[at + half - 1] < value ? half : 0;
  }
  return at;
}

__device__ __forceinline__ float greatest_of_block(float value, float* of_warps) {
  value = fabsf(value);
  for (int offset = 16; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  if (threadIdx.x % 32 == 0) {
    of_warps[threadIdx.x / 32] = value;
  }
  __syncthreads();
  float greatest = of_warps[0];
#pragma unroll
  for (int i = 1; i < 8; ++i) {
    greatest = fmaxf(greatest, of_warps[i]);
  }
  __syncthreads();
  return greatest;
}

struct Moment {
  uint8* codes;
  float* absmax;
};

__device__ __forceinline__ void encode(const Moment& moment, const Table& table, float value,
                                       int64 block, int64 index, int64 count, float* of_warps) {
  const float greatest = greatest_of_block(index < count ? value : 0.0f, of_warps);
  if (index < count) {
    const float scaled = value * (1.0f / fmaxf(greatest, 1e-38f));
    moment.codes[index] = static_cast<uint8>(nearest(table, fminf(fmaxf(scaled, -1.0f), 1.0f)));
  }
  if (threadIdx.x == 0) {
    moment.absmax[block] = greatest;
  }
}

struct Settings {
  float log_beta1, log_beta2, beta1, beta2, rest1, rest2, eps, weight_decay;
};

template <typename T>
__device__ __forceinline__ void update(T* parameter, const T* gradient, const Moment& first,
                                       const Moment& second, const float* first_table,
                                       const float* second_table, const float* step,
                                       const float* rate, const Settings& settings, int64 count) {
  __shared__ Table first_entries;
  __shared__ Table second_entries;
  __shared__ float of_warps[8];
  load_table(first_entries, first_table);
  load_table(second_entries, second_table);
  __syncthreads();
  const float correction1 = -expm1f(*step * settings.log_beta1);
  const float correction2 = sqrtf(-expm1f(*step * settings.log_beta2));
  for (int64 block = blockIdx.x; block * 256 < count; block += gridDim.x) {
    const int64 index = block * 256 + threadIdx.x;
    float m = 0.0f;
    float v = 0.0f;
    if (index < count) {
      const float g = to_float(gradient[index]);
      m = first_entries.entries[first.codes[index]] * first.absmax[block];
      v = second_entries.entries[second.codes[index]] * second.absmax[block];
      m = m * settings.beta1 + settings.rest1 * g;
      v = v * settings.beta2 + settings.rest2 * g * g;
      const float change = m / (sqrtf(v) / correction2 + settings.eps) / correction1;
      const float value =
          to_float(parameter[index]) * (1.0f - *rate * settings.weight_decay) - change * *rate;
      parameter[index] = from_float<T>(value);
    }
    // All threads have read the block's greatest values before they are written: encode() waits.
    encode(first, first_entries, m, block, index, count, of_warps);
    encode(second, second_entries, v, block, index, count, of_warps);
  }
}

#define UPDATE(NAME, TYPE)                                                                      \
  extern "C" __global__ void __launch_bounds__(256)                                             \
  NAME(TYPE* parameter, const TYPE* gradient, uint8* first, float* first_absmax, uint8* second, \
       float* second_absmax, const float* first_table, const float* second_table,               \
       const float* step, const float* rate, float log_beta1, float log_beta2, float beta1,     \
       float beta2, float rest1, float rest2, float eps, float weight_decay, int64 count) {     \
    update(parameter, gradient, Moment{first, first_absmax}, Moment{second, second_absmax},     \
           first_table, second_table, step, rate,                                               \
           Settings{log_beta1, log_beta2, beta1, beta2, rest1, rest2, eps, weight_decay},       \
           count);                                                                              \
  }

UPDATE(on_floats, float)
UPDATE(on_bfloat16, bfloat16)
)cuda";

}  // namespace

Result<Adamw8bitKernels> make_adamw8bit_kernels(device::Plugin& plugin) {
  const Program program =
      KEDGE_TRY(Program::make(plugin, kCudaPrelude + kAdamw8bitSource, "adamw8bit"));
  return Adamw8bitKernels{.on_floats = KEDGE_TRY(program.kernel("on_floats")),
                          .on_bfloat16 = KEDGE_TRY(program.kernel("on_bfloat16"))};
}

bool can_adamw8bit(const device::Adamw8bitStep& step) {
  const at::ScalarType type = step.parameter.scalar_type();
  return (type == at::kFloat || type == at::kBFloat16) && step.gradient.scalar_type() == type &&
         step.parameter.is_contiguous() && step.gradient.is_contiguous() &&
         step.parameter.numel() > 0;
}

void adamw8bit(const Adamw8bitKernels& kernels, const device::Adamw8bitStep& step) {
  device::Kernel& kernel =
      step.parameter.scalar_type() == at::kFloat ? *kernels.on_floats : *kernels.on_bfloat16;
  const std::int64_t count = step.parameter.numel();
  const auto blocks =
      static_cast<unsigned>(std::min((count + kMoments - 1) / kMoments, kMostMomentBlocks));
  const auto as_float = [](double value) { return static_cast<float>(value); };
  kernel({.blocks = blocks, .threads = kMomentThreads}, step.parameter.mutable_data_ptr(),
         step.gradient.const_data_ptr(), step.first.codes.mutable_data_ptr(),
         step.first.absmax.mutable_data_ptr(), step.second.codes.mutable_data_ptr(),
         step.second.absmax.mutable_data_ptr(), step.first.table.const_data_ptr(),
         step.second.table.const_data_ptr(), step.step.const_data_ptr(), step.rate.const_data_ptr(),
         as_float(std::log(step.beta1)), as_float(std::log(step.beta2)), as_float(step.beta1),
         as_float(step.beta2), as_float(1 - step.beta1), as_float(1 - step.beta2),
         as_float(step.eps), as_float(step.weight_decay), count);
}

}  // namespace kedge::kernels
