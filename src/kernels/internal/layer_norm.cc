#include "kernels/internal/layer_norm.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "kernels/internal/cuda_source.h"
#include "kernels/internal/kernel_cache.h"

namespace kedge::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kPiece = 256;  // columns that a warp holds in eights
constexpr std::int64_t kMostPieces = 8;
constexpr unsigned kLayerNormThreads = 256;
constexpr std::int64_t kLayerNormRowsAtOnce = kLayerNormThreads / 32;
constexpr std::int64_t kMostBlocks = 528;

// A warp takes a row: lane l holds the columns l * 8 .. l * 8 + 7 of each piece of 256.
constexpr char kLayerNormSource[] = R"cuda(
template <int PIECES>
struct Row {
  Eight piece[PIECES];
};

template <int PIECES>
__device__ __forceinline__ float sum_of_row(const Row<PIECES>& row) {
  float sum = 0;
#pragma unroll
  for (int p = 0; p < PIECES; ++p) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      sum += row.piece[p].v[i];
    }
  }
  return sum_of_warp(sum);
}

// sum may be null, delta too. facts: mean and inverse deviation of each row.
template <int PIECES>
__device__ void forward_rows(const float* x, const bfloat16* delta, const float* weight,
                        const float* bias, int64 rows, float eps, float* sum, bfloat16* normed,
                        float* facts) {
  constexpr int width = PIECES * 256;
  const int column = threadIdx.x % 32 * 8;
  const int64 row = static_cast<int64>(blockIdx.x) * 8 + threadIdx.x / 32;
  if (row >= rows) {
    return;
  }
  Row<PIECES> value;
#pragma unroll
  for (int p = 0; p < PIECES; ++p) {
    const int64 at = row * width + p * 256 + column;
    value.piece[p] = load_floats(x + at);
    if (delta != nullptr) {
      const Eight added = load(delta + at);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        value.piece[p].v[i] += added.v[i];
      }
      store_floats(sum + at, value.piece[p]);
    }
  }
  const float mean = sum_of_row(value) / width;
  float squares = 0;
#pragma unroll
  for (int p = 0; p < PIECES; ++p) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      value.piece[p].v[i] -= mean;
      squares += value.piece[p].v[i] * value.piece[p].v[i];
    }
  }
  const float inverse = rsqrtf(sum_of_warp(squares) / width + eps);
#pragma unroll
  for (int p = 0; p < PIECES; ++p) {
    const Eight w = load_floats(weight + p * 256 + column);
    const Eight b = load_floats(bias + p * 256 + column);
    Eight out;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      out.v[i] = value.piece[p].v[i] * inverse * w.v[i] + b.v[i];
    }
    store(normed + row * width + p * 256 + column, out);
  }
  if (threadIdx.x % 32 == 0) {
    facts[2 * row] = mean;
    facts[2 * row + 1] = inverse;
  }
}

// upstream: what else reaches the sum; may be null. partial: [blocks, 2, width], the weight's and
// the bias's gradients of each block's rows.
template <int PIECES>
__device__ void backward_rows(const float* sum, const bfloat16* normed_gradient,
                              const float* upstream, const float* weight, const float* facts,
                              int64 rows, float* x_gradient, bfloat16* delta_gradient,
                              float* partial) {
  constexpr int width = PIECES * 256;
  __shared__ float shared[2][width];
  const int column = threadIdx.x % 32 * 8;
  Row<PIECES> weight_sum = {};
  Row<PIECES> bias_sum = {};
  for (int64 row = static_cast<int64>(blockIdx.x) * 8 + threadIdx.x / 32; row < rows;
       row += static_cast<int64>(gridDim.x) * 8) {
    const float mean = facts[2 * row];
    const float inverse = facts[2 * row + 1];
    Row<PIECES> normal;    // of the input
    Row<PIECES> gradient;  // that reaches it
    float along = 0;
    float total = 0;
#pragma unroll
    for (int p = 0; p < PIECES; ++p) {
      const int64 at = row * width + p * 256 + column;
      normal.piece[p] = load_floats(sum + at);
      gradient.piece[p] = load(normed_gradient + at);
      const Eight w = load_floats(weight + p * 256 + column);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        float& n = normal.piece[p].v[i];
        float& g = gradient.piece[p].v[i];
        n = (n - mean) * inverse;
        weight_sum.piece[p].v[i] += g * n;
        bias_sum.piece[p].v[i] += g;
        g *= w.v[i];
        total += g;
        along += g * n;
      }
    }
    total = sum_of_warp(total) / width;
    along = sum_of_warp(along) / width;
#pragma unroll
    for (int p = 0; p < PIECES; ++p) {
      const int64 at = row * width + p * 256 + column;
      Eight out;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        out.v[i] =
            (gradient.piece[p].v[i] - total - normal.piece[p].v[i] * along) * inverse;
      }
      if (upstream != nullptr) {
        const Eight more = load_floats(upstream + at);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          out.v[i] += more.v[i];
        }
      }
      store_floats(x_gradient + at, out);
      if (delta_gradient != nullptr) {
        store(delta_gradient + at, out);
      }
    }
  }
  // The eight warps one after the other, always in the same order.
  for (int warp = 0; warp < 8; ++warp) {
    if (threadIdx.x / 32 == warp) {
#pragma unroll
      for (int p = 0; p < PIECES; ++p) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const int c = p * 256 + column + i;
          shared[0][c] = weight_sum.piece[p].v[i] + (warp == 0 ? 0.0f : shared[0][c]);
          shared[1][c] = bias_sum.piece[p].v[i] + (warp == 0 ? 0.0f : shared[1][c]);
        }
      }
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < 2 * width; i += blockDim.x) {
    partial[static_cast<int64>(blockIdx.x) * 2 * width + i] = shared[i / width][i % width];
  }
}

extern "C" __global__ void __launch_bounds__(256)
forward(const float* x, const bfloat16* delta, const float* weight, const float* bias, int64 rows,
        float eps, float* sum, bfloat16* normed, float* facts) {
  forward_rows<kPieces>(x, delta, weight, bias, rows, eps, sum, normed, facts);
}

extern "C" __global__ void __launch_bounds__(256)
backward(const float* sum, const bfloat16* normed_gradient, const float* upstream,
         const float* weight, const float* facts, int64 rows, float* x_gradient,
         bfloat16* delta_gradient, float* partial) {
  backward_rows<kPieces>(sum, normed_gradient, upstream, weight, facts, rows, x_gradient,
                         delta_gradient, partial);
}

// A block sums 32 of the columns; each of its 8 warps every eighth block's.
extern "C" __global__ void __launch_bounds__(256)
add_up(const float* partial, int64 blocks, int64 columns, float* out) {
  __shared__ float shared[8][32];
  const int64 column = static_cast<int64>(blockIdx.x) * 32 + threadIdx.x % 32;
  float sum = 0;
  for (int64 block = threadIdx.x / 32; block < blocks; block += 8) {
    sum += partial[block * columns + column];
  }
  shared[threadIdx.x / 32][threadIdx.x % 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    float all = 0;
    for (int warp = 0; warp < 8; ++warp) {
      all += shared[warp][threadIdx.x];
    }
    out[column] = all;
  }
}
)cuda";

struct Sizes {
  std::int64_t rows = 0;
  std::int64_t width = 0;

  explicit Sizes(const at::Tensor& x) : rows(x.numel() / x.size(-1)), width(x.size(-1)) {}

  std::int64_t blocks_for_rows() const {
    return (rows + kLayerNormRowsAtOnce - 1) / kLayerNormRowsAtOnce;
  }
};

struct Saved {
  at::Tensor sum;
  at::Tensor weight;
  at::Tensor facts;
};

void run_forward(LayerNormKernels& kernels, const device::AddNormStep& step, at::Tensor& sum,
                 at::Tensor& normed, at::Tensor& facts) {
  const Sizes sizes(step.x);
  facts = torch::empty({sizes.rows, 2}, step.x.options());
  normed = torch::empty_like(step.x, step.x.options().dtype(at::kBFloat16));
  const bool has_delta = step.delta.defined();
  if (has_delta) {
    sum = torch::empty_like(step.x);
  }
  (*kernels.of_width(sizes.width).forward)(
      {.blocks = static_cast<unsigned>(sizes.blocks_for_rows()), .threads = kLayerNormThreads},
      step.x.const_data_ptr(),
      has_delta ? step.delta.const_data_ptr() : static_cast<const void*>(nullptr),
      step.weight.const_data_ptr(), step.bias.const_data_ptr(), sizes.rows,
      static_cast<float>(step.eps),
      has_delta ? sum.mutable_data_ptr() : static_cast<void*>(nullptr), normed.mutable_data_ptr(),
      facts.mutable_data_ptr());
}

struct Gradients {
  at::Tensor x;
  at::Tensor delta;
  at::Tensor weight;
  at::Tensor bias;
};

Gradients run_backward(LayerNormKernels& kernels, const Saved& saved, const at::Tensor& upstream,
                       const at::Tensor& normed_gradient, bool has_delta) {
  const Sizes sizes(saved.sum);
  LayerNormKernels::OfWidth& its = kernels.of_width(sizes.width);
  const at::Tensor normed = normed_gradient.contiguous();
  const at::Tensor more = upstream.defined() ? upstream.contiguous() : upstream;
  const std::int64_t blocks = std::min(kMostBlocks, sizes.blocks_for_rows());
  const at::Tensor partial = torch::empty({blocks, 2, sizes.width}, saved.sum.options());
  const at::Tensor sums = torch::empty({2, sizes.width}, saved.sum.options());
  Gradients out{.x = torch::empty_like(saved.sum),
                .delta = has_delta ? torch::empty_like(normed) : at::Tensor(),
                .weight = sums[0],
                .bias = sums[1]};
  (*its.backward)({.blocks = static_cast<unsigned>(blocks), .threads = kLayerNormThreads},
                  saved.sum.const_data_ptr(), normed.const_data_ptr(),
                  more.defined() ? more.const_data_ptr() : static_cast<const void*>(nullptr),
                  saved.weight.const_data_ptr(), saved.facts.const_data_ptr(), sizes.rows,
                  out.x.mutable_data_ptr(),
                  has_delta ? out.delta.mutable_data_ptr() : static_cast<void*>(nullptr),
                  partial.mutable_data_ptr());
  (*its.add_up)(
      {.blocks = static_cast<unsigned>(2 * sizes.width / 32), .threads = kLayerNormThreads},
      partial.const_data_ptr(), blocks, 2 * sizes.width, sums.mutable_data_ptr());
  return out;
}

class LayerNormFunction : public torch::autograd::Function<LayerNormFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, double eps, LayerNormKernels* kernels) {
    at::Tensor none;
    at::Tensor normed;
    at::Tensor facts;
    run_forward(*kernels, {.x = x, .delta = {}, .weight = weight, .bias = bias, .eps = eps}, none,
                normed, facts);
    ctx->save_for_backward({x, weight, facts});
    ctx->saved_data["kernels"] = reinterpret_cast<std::int64_t>(kernels);
    return normed;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    auto* kernels = reinterpret_cast<LayerNormKernels*>(ctx->saved_data["kernels"].toInt());
    const variable_list saved = ctx->get_saved_variables();
    const Gradients out = run_backward(*kernels, {saved[0], saved[1], saved[2]}, {}, gradients[0],
                                       /*has_delta=*/false);
    return {out.x, out.weight, out.bias, {}, {}};
  }
};

class AddNormFunction : public torch::autograd::Function<AddNormFunction> {
 public:
  static variable_list forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& delta,
                               const at::Tensor& weight, const at::Tensor& bias, double eps,
                               LayerNormKernels* kernels) {
    at::Tensor sum;
    at::Tensor normed;
    at::Tensor facts;
    run_forward(*kernels, {.x = x, .delta = delta, .weight = weight, .bias = bias, .eps = eps}, sum,
                normed, facts);
    ctx->save_for_backward({sum, weight, facts});
    ctx->set_materialize_grads(false);
    ctx->saved_data["kernels"] = reinterpret_cast<std::int64_t>(kernels);
    return {sum, normed};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    if (!gradients[1].defined()) {  // nobody used the normalised value
      return {gradients[0], gradients[0].defined() ? gradients[0].to(at::kBFloat16) : gradients[0],
              {},           {},
              {},           {}};
    }
    auto* kernels = reinterpret_cast<LayerNormKernels*>(ctx->saved_data["kernels"].toInt());
    const variable_list saved = ctx->get_saved_variables();
    const Gradients out = run_backward(*kernels, {saved[0], saved[1], saved[2]}, gradients[0],
                                       gradients[1], /*has_delta=*/true);
    return {out.x, out.delta, out.weight, out.bias, {}, {}};
  }
};

bool is_plain(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.scalar_type() == type && tensor.is_contiguous();
}

}  // namespace

LayerNormKernels::OfWidth& LayerNormKernels::of_width(std::int64_t width) {
  if (const auto found = by_width_.find(width); found != by_width_.end()) {
    return found->second;
  }
  const auto make = [&]() -> Result<OfWidth> {
    const std::string pieces = fmt::format("constexpr int kPieces = {};\n", width / kPiece);
    const Program program =
        KEDGE_TRY(Program::make(*plugin_, kCudaPrelude + pieces + kLayerNormSource, "layer_norm"));
    return OfWidth{.forward = KEDGE_TRY(program.kernel("forward")),
                   .backward = KEDGE_TRY(program.kernel("backward")),
                   .add_up = KEDGE_TRY(program.kernel("add_up"))};
  };
  auto made = make();
  TORCH_CHECK(made.has_value(), made.error().message);
  return by_width_.emplace(width, std::move(*made)).first->second;
}

bool can_add_norm(const device::AddNormStep& step) {
  const at::Tensor& x = step.x;
  return is_plain(x, at::kFloat) && x.numel() > 0 && x.size(-1) % kPiece == 0 &&
         x.size(-1) <= kPiece * kMostPieces &&
         (!step.delta.defined() || is_plain(step.delta, at::kBFloat16)) &&
         is_plain(step.weight, at::kFloat) && is_plain(step.bias, at::kFloat);
}

device::AddNormed add_norm(LayerNormKernels& kernels, const device::AddNormStep& step) {
  if (!step.delta.defined()) {
    return {.sum = step.x,
            .normed = LayerNormFunction::apply(step.x, step.weight, step.bias, step.eps, &kernels)};
  }
  const variable_list both =
      AddNormFunction::apply(step.x, step.delta, step.weight, step.bias, step.eps, &kernels);
  return {.sum = both[0], .normed = both[1]};
}

}  // namespace kedge::kernels
