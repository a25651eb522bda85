#include "kernels/internal/whiten.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>

#include "kernels/internal/cuda_source.h"
#include "kernels/internal/kernel_cache.h"

namespace kedge::kernels {
namespace {

constexpr std::int64_t kInputs = 3;
constexpr std::int64_t kOutputs = 8 * kInputs;
constexpr unsigned kWhitenThreads = 256;
constexpr std::int64_t kWhitenGradientBlocks = 528;  // a few for each multiprocessor of a large GPU

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// A thread makes all 24 outputs of a pixel. Weights are [output][channel][y][x], in shared memory.
constexpr char kWhitenSource[] = R"cuda(
constexpr int kInputs = 3;
constexpr int kOutputs = 24;
constexpr int kPatch = 4 * kInputs;

struct Weights {
  float weight[kOutputs * kPatch];
  float bias[kOutputs];
};

__device__ __forceinline__ void load_weights(const float* weight, const float* bias,
                                             Weights& shared) {
  for (int i = threadIdx.x; i < kOutputs * kPatch; i += blockDim.x) {
    shared.weight[i] = weight[i];
  }
  if (threadIdx.x < kOutputs) {
    shared.bias[threadIdx.x] = bias[threadIdx.x];
  }
  __syncthreads();
}

__device__ __forceinline__ void load_patch(const bfloat16* x, int64 pixel, int height, int width,
                                           float* patch) {
  const int64 row = pixel / (width - 1);
  const int64 image = row / (height - 1);
  const int64 first =
      ((image * height + row % (height - 1)) * width + pixel % (width - 1)) * kInputs;
#pragma unroll
  for (int c = 0; c < kInputs; ++c) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      patch[c * 4 + k] = to_float(x[first + (k / 2 * width + k % 2) * kInputs + c]);
    }
  }
}

__device__ __forceinline__ float project(const Weights& weights, const float* patch, int output) {
  float z = weights.bias[output];
#pragma unroll
  for (int i = 0; i < kPatch; ++i) {
    z += weights.weight[output * kPatch + i] * patch[i];
  }
  return z;
}

extern "C" __global__ void __launch_bounds__(256)
forward(const bfloat16* x, const float* weight, const float* bias, bfloat16* y, int64 pixels,
        int height, int width) {
  __shared__ Weights weights;
  load_weights(weight, bias, weights);
  const int64 pixel = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (pixel >= pixels) {
    return;
  }
  float patch[kPatch];
  load_patch(x, pixel, height, width, patch);
#pragma unroll
  for (int group = 0; group < kOutputs / 8; ++group) {
    Eight out;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      out.v[i] = gelu(project(weights, patch, group * 8 + i));
    }
    store(y + pixel * kOutputs + group * 8, out);
  }
}

// partial: [blocks, 24]; blockIdx.y takes eight of the outputs.
extern "C" __global__ void __launch_bounds__(256)
bias_gradient(const bfloat16* x, const float* weight, const float* bias, const bfloat16* dy,
              float* partial, int64 pixels, int height, int width) {
  __shared__ Weights weights;
  __shared__ float sums[8][8];  // [warp][output]
  load_weights(weight, bias, weights);
  const int first = blockIdx.y * 8;
  Eight sum = {};
  const int64 step = static_cast<int64>(gridDim.x) * blockDim.x;
  for (int64 pixel = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x; pixel < pixels;
       pixel += step) {
    float patch[kPatch];
    load_patch(x, pixel, height, width, patch);
    const Eight upstream = load(dy + pixel * kOutputs + first);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      sum.v[i] += upstream.v[i] * gelu_slope(project(weights, patch, first + i));
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float of_warp = sum_of_warp(sum.v[i]);
    if (threadIdx.x % 32 == 0) {
      sums[threadIdx.x / 32][i] = of_warp;
    }
  }
  __syncthreads();
  if (threadIdx.x < 8) {
    float all = 0;
    for (int warp = 0; warp < 8; ++warp) {
      all += sums[warp][threadIdx.x];
    }
    partial[static_cast<int64>(blockIdx.x) * kOutputs + first + threadIdx.x] = all;
  }
}
)cuda";

std::int64_t count_pixels(const at::Tensor& x) {
  return x.size(0) * (x.size(2) - 1) * (x.size(3) - 1);
}

class WhitenFunction : public torch::autograd::Function<WhitenFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, WhitenKernels* kernels) {
    at::Tensor y = torch::empty({x.size(0), kOutputs, x.size(2) - 1, x.size(3) - 1}, x.options(),
                                at::MemoryFormat::ChannelsLast);
    const std::int64_t pixels = count_pixels(x);
    (*kernels->forward)(
        {.blocks = static_cast<unsigned>((pixels + kWhitenThreads - 1) / kWhitenThreads),
         .threads = kWhitenThreads},
        x.const_data_ptr(), weight.const_data_ptr(), bias.const_data_ptr(), y.mutable_data_ptr(),
        pixels, static_cast<int>(x.size(2)), static_cast<int>(x.size(3)));
    ctx->save_for_backward({x, weight, bias});
    ctx->saved_data["kernels"] = reinterpret_cast<std::int64_t>(kernels);
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    auto* kernels = reinterpret_cast<WhitenKernels*>(ctx->saved_data["kernels"].toInt());
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor dy = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
    const std::int64_t pixels = count_pixels(x);
    const std::int64_t blocks =
        std::min(kWhitenGradientBlocks, (pixels + kWhitenThreads - 1) / kWhitenThreads);
    const at::Tensor partial = torch::empty({blocks, kOutputs}, saved[2].options());
    (*kernels->bias_gradient)({.blocks = static_cast<unsigned>(blocks),
                               .blocks_y = static_cast<unsigned>(kOutputs / 8),
                               .threads = kWhitenThreads},
                              x.const_data_ptr(), saved[1].const_data_ptr(),
                              saved[2].const_data_ptr(), dy.const_data_ptr(),
                              partial.data_ptr<float>(), pixels, static_cast<int>(x.size(2)),
                              static_cast<int>(x.size(3)));
    return {{}, {}, partial.sum(0), {}};
  }
};

bool is_contiguous_float(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat && tensor.is_contiguous();
}

}  // namespace

Result<WhitenKernels> make_whiten_kernels(device::Plugin& plugin) {
  const Program program = KEDGE_TRY(Program::make(plugin, kCudaPrelude + kWhitenSource, "whiten"));
  auto forward = KEDGE_TRY(program.kernel("forward"));
  auto bias_gradient = KEDGE_TRY(program.kernel("bias_gradient"));
  return WhitenKernels{.forward = std::move(forward), .bias_gradient = std::move(bias_gradient)};
}

bool can_whiten(const nn::WhitenStep& step) {
  const at::Tensor& x = step.x;
  return x.scalar_type() == at::kBFloat16 && x.dim() == 4 && x.size(1) == kInputs &&
         x.size(2) > 1 && x.size(3) > 1 && x.numel() > 0 && !x.requires_grad() &&
         x.is_contiguous(at::MemoryFormat::ChannelsLast) && is_contiguous_float(step.weight) &&
         !step.weight.requires_grad() && is_contiguous_float(step.bias);
}

at::Tensor whiten(WhitenKernels& kernels, const nn::WhitenStep& step) {
  return WhitenFunction::apply(step.x, step.weight, step.bias, &kernels);
}

}  // namespace kedge::kernels
