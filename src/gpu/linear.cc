#include "gpu/linear.h"

#include <algorithm>
#include <cstdint>

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "gpu/cuda_source.h"
#include "gpu/kernel_cache.h"
#include "gpu/sum_source.h"

namespace kedge::gpu {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kTile = 64;
constexpr std::int64_t kBlocks = 264;
constexpr std::int64_t kRowsAtOnce = 64;
constexpr std::int64_t kMostTiles = 1024;
constexpr unsigned kThreads = 512;

constexpr char kSource[] = R"cuda(
extern "C" __global__ void __launch_bounds__(512)
column_sums(const bfloat16* x, int64 rows, int64 channels, float* partial, int* counter,
            float* out) {
  const int64 first = static_cast<int64>(blockIdx.x) * 64 + threadIdx.x % kLanes * 8;
  Eight sum = {};
  const Eight none = {};
  const int64 step = static_cast<int64>(gridDim.y) * kRowsAtOnce;
  for (int64 row = static_cast<int64>(blockIdx.y) * kRowsAtOnce + threadIdx.x / kLanes; row < rows;
       row += kInFlight * step) {
    uint4 raw[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      raw[k] = row + k * step < rows ? load_raw(x + (row + k * step) * channels + first)
                                     : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const Eight value = unpack(raw[k]);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        sum.v[i] += value.v[i];
      }
    }
  }
  float total[2];
  if (sum_over_rows(sum, none, partial, counter, channels, total) && threadIdx.x < 64) {
    out[static_cast<int64>(blockIdx.x) * 64 + threadIdx.x] = total[0];
  }
}
)cuda";

at::Tensor sum_columns(LinearKernels& kernels, const at::Tensor& x) {
  const std::int64_t tiles = x.size(1) / kTile;
  const std::int64_t per_tile = std::clamp<std::int64_t>(
      kBlocks / tiles, 1, std::max<std::int64_t>(1, x.size(0) / kRowsAtOnce));
  const auto floats = torch::TensorOptions(torch::kFloat).device(x.device());
  const at::Tensor partial = torch::empty({per_tile, 2, x.size(1)}, floats);
  at::Tensor out = torch::empty({x.size(1)}, floats);
  (*kernels.column_sums)({.blocks = static_cast<unsigned>(tiles),
                          .blocks_y = static_cast<unsigned>(per_tile),
                          .threads = kThreads},
                         x.const_data_ptr(), x.size(0), x.size(1), partial.mutable_data_ptr(),
                         kernels.counters.mutable_data_ptr(), out.mutable_data_ptr());
  return out;
}

class LinearFunction : public torch::autograd::Function<LinearFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, LinearKernels* kernels) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCUDA);
    const at::Tensor low_weight = weight.to(at::kBFloat16);
    ctx->save_for_backward({x, low_weight});
    ctx->saved_data["kernels"] = reinterpret_cast<std::int64_t>(kernels);
    return torch::linear(x, low_weight, bias.to(at::kBFloat16));
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    auto* kernels = reinterpret_cast<LinearKernels*>(ctx->saved_data["kernels"].toInt());
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor dy = gradients[0].reshape({-1, gradients[0].size(-1)}).contiguous();
    const at::Tensor rows = x.reshape({-1, x.size(-1)});
    return {dy.mm(saved[1]).view(x.sizes()), at::mm(dy.t(), rows, at::kFloat),
            sum_columns(*kernels, dy), at::Tensor()};
  }
};

}  // namespace

Result<LinearKernels> make_linear_kernels(Plugin& plugin) {
  const Program program =
      KEDGE_TRY(Program::make(plugin, kCudaPrelude + kSumSource + kSource, "linear"));
  const auto counters = torch::TensorOptions(torch::kInt).device(plugin.device());
  return LinearKernels{.counters = torch::zeros({kMostTiles}, counters),
                       .column_sums = KEDGE_TRY(program.kernel("column_sums"))};
}

bool can_linear(const nn::LinearStep& step) {
  const std::int64_t columns = step.weight.size(0);
  return step.x.scalar_type() == at::kBFloat16 && step.x.numel() > 0 &&
         step.weight.scalar_type() == at::kFloat && step.bias.defined() && columns % kTile == 0 &&
         columns <= kTile * kMostTiles;
}

at::Tensor linear(LinearKernels& kernels, const nn::LinearStep& step) {
  return LinearFunction::apply(step.x, step.weight, step.bias, &kernels);
}

}  // namespace kedge::gpu
