#include "kernels/internal/rms_norm.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "kernels/internal/cuda_source.h"
#include "kernels/internal/kernel_cache.h"
#include "kernels/internal/rows.h"

namespace kedge::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kWidest = 8192;               // 1024 threads
constexpr std::int64_t kColumnTile = 32;             // of a block that adds up
constexpr std::int64_t kThreadsAtOnce = 132 * 2048;  // that the largest GPUs hold

// A block takes a row, each thread eight columns of it.
constexpr char kRmsNormSource[] = R"cuda(
__device__ __forceinline__ Eight load_any(const float* from) { return load_floats(from); }
__device__ __forceinline__ Eight load_any(const bfloat16* from) { return load(from); }
__device__ __forceinline__ void store_any(float* to, const Eight& value) {
  store_floats(to, value);
}
__device__ __forceinline__ void store_any(bfloat16* to, const Eight& value) { store(to, value); }

constexpr int kWarps = kThreads / 32;

// Of the values of all threads; every thread must ask.
__device__ __forceinline__ float sum_of_block(float value) {
  __shared__ float shared[kWarps];
  value = sum_of_warp(value);
  if (threadIdx.x % 32 == 0) {
    shared[threadIdx.x / 32] = value;
  }
  __syncthreads();
  float all = 0;
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) {
    all += shared[warp];
  }
  __syncthreads();
  return all;
}

// delta may be null, and the sum with it. scales: the inverse root mean square of each row.
extern "C" __global__ void __launch_bounds__(kThreads)
forward(const Stream* x, const bfloat16* delta, const Weight* weight, float eps, Stream* sum,
        bfloat16* normed, float* scales) {
  const int column = threadIdx.x * 8;
  const bool is_in = column < kWidth;
  const int64 at = static_cast<int64>(blockIdx.x) * kWidth + column;
  Eight value = {};
  if (is_in) {
    value = load_any(x + at);
    if (delta != nullptr) {
      const Eight added = load(delta + at);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        value.v[i] = to_float(from_float<Stream>(value.v[i] + added.v[i]));
      }
      store_any(sum + at, value);
    }
  }
  float squares = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    squares += value.v[i] * value.v[i];
  }
  const float scale = rsqrtf(sum_of_block(squares) / kWidth + eps);
  if (is_in) {
    const Eight w = load_any(weight + column);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      value.v[i] = to_float(from_float<Stream>(value.v[i] * scale)) * w.v[i];
    }
    store(normed + at, value);
  }
  if (threadIdx.x == 0) {
    scales[blockIdx.x] = scale;
  }
}

// upstream: what else reaches the sum; may be null. delta_gradient: null where x's has its type.
// partial: [blocks, width], the weight's gradient of each block's rows; null: not wanted.
extern "C" __global__ void __launch_bounds__(kThreads)
backward(const Stream* sum, const bfloat16* normed_gradient, const Stream* upstream,
         const Weight* weight, const float* scales, int64 rows, Stream* x_gradient,
         bfloat16* delta_gradient, float* partial) {
  const int column = threadIdx.x * 8;
  const bool is_in = column < kWidth;
  Eight w = {};
  if (is_in) {
    w = load_any(weight + column);
  }
  Eight weight_sum = {};
  for (int64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const int64 at = row * kWidth + column;
    const float scale = scales[row];
    Eight normal = {};
    Eight gradient = {};
    Eight more = {};  // asked for before the barrier, so that nothing waits for it behind
    float along = 0;
    if (is_in) {
      if (upstream != nullptr) {
        more = load_any(upstream + at);
      }
      normal = load_any(sum + at);
      gradient = load(normed_gradient + at);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        normal.v[i] *= scale;
        weight_sum.v[i] += gradient.v[i] * normal.v[i];
        gradient.v[i] *= w.v[i];
        along += gradient.v[i] * normal.v[i];
      }
    }
    along = sum_of_block(along) / kWidth;
    if (is_in) {
      Eight out;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        out.v[i] = (gradient.v[i] - normal.v[i] * along) * scale + more.v[i];
      }
      store_any(x_gradient + at, out);
      if (delta_gradient != nullptr) {
        store(delta_gradient + at, out);
      }
    }
  }
  if (partial != nullptr && is_in) {
    store_floats(partial + static_cast<int64>(blockIdx.x) * kWidth + column, weight_sum);
  }
}

// A block sums 32 of the columns; each of its 8 warps every eighth block's.
extern "C" __global__ void __launch_bounds__(256)
add_up(const float* partial, int64 blocks, Weight* out) {
  __shared__ float shared[8][32];
  const int64 column = static_cast<int64>(blockIdx.x) * 32 + threadIdx.x % 32;
  float sum = 0;
  for (int64 block = threadIdx.x / 32; block < blocks; block += 8) {
    sum += partial[block * kWidth + column];
  }
  shared[threadIdx.x / 32][threadIdx.x % 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    float all = 0;
    for (int warp = 0; warp < 8; ++warp) {
      all += shared[warp][threadIdx.x];
    }
    out[column] = from_float<Weight>(all);
  }
}
)cuda";

unsigned threads_of(std::int64_t width) {
  return static_cast<unsigned>((width / kEight + 31) / 32 * 32);
}

RmsNormKernels::Kind kind_of(const at::Tensor& stream, const at::Tensor& weight) {
  return {.width = stream.size(-1),
          .is_bf16_stream = stream.scalar_type() == at::kBFloat16,
          .is_bf16_weight = weight.scalar_type() == at::kBFloat16};
}

const void* data_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr() : nullptr;
}

class RmsNormFunction : public torch::autograd::Function<RmsNormFunction> {
 public:
  // The sum, where there is a delta, and the normalised sum.
  static variable_list forward(AutogradContext* ctx, const at::Tensor& x,
                               const std::optional<at::Tensor>& delta, const at::Tensor& weight,
                               double eps, RmsNormKernels* kernels) {
    const std::int64_t rows = x.numel() / x.size(-1);
    const at::Tensor scales = torch::empty({rows}, x.options().dtype(at::kFloat));
    at::Tensor normed = torch::empty_like(x, x.options().dtype(at::kBFloat16));
    at::Tensor sum = delta ? torch::empty_like(x) : at::Tensor();
    (*kernels->of_kind(kind_of(x, weight)).forward)(
        {.blocks = static_cast<unsigned>(rows), .threads = threads_of(x.size(-1))},
        x.const_data_ptr(), data_or_null(delta.value_or(at::Tensor())), weight.const_data_ptr(),
        static_cast<float>(eps), delta ? sum.mutable_data_ptr() : static_cast<void*>(nullptr),
        normed.mutable_data_ptr(), scales.mutable_data_ptr());
    ctx->save_for_backward({delta ? sum : x, weight, scales});
    ctx->set_materialize_grads(false);
    ctx->saved_data["kernels"] = reinterpret_cast<std::int64_t>(kernels);
    ctx->saved_data["needs_weight"] = weight.requires_grad();
    return delta ? variable_list{normed, sum} : variable_list{normed};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const at::Tensor upstream = gradients.size() > 1 ? gradients[1] : at::Tensor();
    if (!gradients[0].defined()) {  // nobody used the normalised value
      const at::Tensor low = upstream.defined() ? upstream.to(at::kBFloat16) : upstream;
      return {upstream, low, {}, {}, {}};
    }
    auto* kernels = reinterpret_cast<RmsNormKernels*>(ctx->saved_data["kernels"].toInt());
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor& sum = saved[0];
    const at::Tensor& weight = saved[1];
    const std::int64_t width = sum.size(-1);
    const std::int64_t rows = sum.numel() / width;
    const std::int64_t blocks = std::min(kThreadsAtOnce / threads_of(width), rows);
    RmsNormKernels::OfKind& its = kernels->of_kind(kind_of(sum, weight));
    const at::Tensor normed = gradients[0].contiguous();
    const at::Tensor more = upstream.defined() ? upstream.contiguous() : upstream;
    const bool has_delta = gradients.size() > 1;
    const bool is_low = sum.scalar_type() == at::kBFloat16;
    at::Tensor dx = torch::empty_like(sum);
    at::Tensor ddelta = !has_delta ? at::Tensor() : is_low ? dx : torch::empty_like(normed);
    at::Tensor partial;
    if (ctx->saved_data["needs_weight"].toBool()) {
      partial = torch::empty({blocks, width}, sum.options().dtype(at::kFloat));
    }
    (*its.backward)({.blocks = static_cast<unsigned>(blocks), .threads = threads_of(width)},
                    sum.const_data_ptr(), normed.const_data_ptr(), data_or_null(more),
                    weight.const_data_ptr(), saved[2].const_data_ptr(), rows, dx.mutable_data_ptr(),
                    has_delta && !is_low ? ddelta.mutable_data_ptr() : static_cast<void*>(nullptr),
                    partial.defined() ? partial.mutable_data_ptr() : static_cast<void*>(nullptr));
    at::Tensor dweight;
    if (partial.defined()) {
      dweight = torch::empty_like(weight);
      (*its.add_up)({.blocks = static_cast<unsigned>(width / kColumnTile), .threads = 256},
                    partial.const_data_ptr(), blocks, dweight.mutable_data_ptr());
    }
    return {dx, ddelta, dweight, {}, {}};
  }
};

bool is_float_or_bf16(const at::Tensor& tensor) {
  return tensor.is_contiguous() &&
         (tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kBFloat16);
}

}  // namespace

RmsNormKernels::OfKind& RmsNormKernels::of_kind(const Kind& kind) {
  if (const auto found = by_kind_.find(kind); found != by_kind_.end()) {
    return found->second;
  }
  const auto make = [&]() -> Result<OfKind> {
    const std::string facts = fmt::format(
        "using Stream = {};\nusing Weight = {};\nconstexpr int kWidth = {};\n"
        "constexpr int kThreads = {};\n",
        kind.is_bf16_stream ? "bfloat16" : "float", kind.is_bf16_weight ? "bfloat16" : "float",
        kind.width, threads_of(kind.width));
    const Program program =
        KEDGE_TRY(Program::make(*plugin_, kCudaPrelude + facts + kRmsNormSource, "rms_norm"));
    return OfKind{.forward = KEDGE_TRY(program.kernel("forward")),
                  .backward = KEDGE_TRY(program.kernel("backward")),
                  .add_up = KEDGE_TRY(program.kernel("add_up"))};
  };
  auto made = make();
  TORCH_CHECK(made.has_value(), made.error().message);
  return by_kind_.emplace(kind, std::move(*made)).first->second;
}

bool can_add_rms_norm(const device::AddNormStep& step) {
  const at::Tensor& x = step.x;
  return is_float_or_bf16(x) && x.numel() > 0 && x.size(-1) % kColumnTile == 0 &&
         x.size(-1) <= kWidest && is_float_or_bf16(step.weight) &&
         (!step.delta.defined() ||
          (step.delta.is_contiguous() && step.delta.scalar_type() == at::kBFloat16));
}

device::AddNormed add_rms_norm(RmsNormKernels& kernels, const device::AddNormStep& step) {
  const bool has_delta = step.delta.defined();
  const variable_list made =
      RmsNormFunction::apply(step.x, has_delta ? std::optional(step.delta) : std::nullopt,
                             step.weight, step.eps, &kernels);
  return {.sum = has_delta ? made[1] : step.x, .normed = made[0]};
}

}  // namespace kedge::kernels
