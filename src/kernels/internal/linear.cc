#include "kernels/internal/linear.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "kernels/internal/cuda_source.h"
#include "kernels/internal/kernel_cache.h"
#include "kernels/internal/sum_source.h"

namespace kedge::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kBlocks = 264;
constexpr std::int64_t kRowsAtOnce = 64;
constexpr std::int64_t kMostColumnTiles = 1024;
constexpr std::int64_t kColumnsOfThread = 8;
constexpr unsigned kGeluThreads = 256;
constexpr std::int64_t kGeluUnits = 4L * kGeluThreads;  // of a block

constexpr char kLinearSource[] = R"cuda(
constexpr float kSlope = 0.79788456f;  // sqrt(2 / pi)
constexpr float kCube = 0.044715f;

// GELU's share of x that passes, and how fast the share grows.
struct Share {
  float value, slope;
};

__device__ __forceinline__ Share share_at(float x, int is_tanh) {
  if (is_tanh == 0) {
    const Normal normal = normal_at(x);
    return {normal.below, normal.density};
  }
  const float square = x * x;
  const float u = 2.0f * kSlope * x * (1.0f + kCube * square);
  const float share = __fdividef(1.0f, 1.0f + __expf(-u));
  return {share, share * (1.0f - share) * 2.0f * kSlope * (1.0f + 3.0f * kCube * square)};
}

extern "C" __global__ void __launch_bounds__(256)
gelu_of(const bfloat16* x, bfloat16* y, int64 units, int is_tanh) {
  const int64 first = static_cast<int64>(blockIdx.x) * 256 * kInFlight + threadIdx.x;
  uint4 raw[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    if (first + k * 256 < units) {
      raw[k] = load_raw(x + (first + k * 256) * 8);
    }
  }
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    if (first + k * 256 < units) {
      Eight value = unpack(raw[k]);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        value.v[i] *= share_at(value.v[i], is_tanh).value;
      }
      store(y + (first + k * 256) * 8, value);
    }
  }
}

// What the sums below are of: eight columns of a row, read early and taken when they are there.
struct Plain {
  const bfloat16* x;
  int64 channels;

  using Raw = uint4;
  __device__ Raw read(int64 row) const { return load_raw(x + row * channels); }
  __device__ Eight take(const Raw& raw, int64) const { return unpack(raw); }
};

struct Joined {
  const bfloat16* part;
  int64 width;
  bfloat16* whole;

  using Raw = uint4;
  __device__ Raw read(int64 row) const { return load_raw(part + row * width); }
  __device__ Eight take(const Raw& raw, int64 row) const {
    *reinterpret_cast<uint4*>(whole + row * 3 * width) = raw;
    return unpack(raw);
  }
};

struct ThroughGelu {
  const bfloat16* x;
  const bfloat16* dy;
  bfloat16* dx;
  int64 channels;
  int is_tanh;

  struct Raw {
    uint4 x, dy;
  };
  __device__ Raw read(int64 row) const {
    return {load_raw(x + row * channels), load_raw(dy + row * channels)};
  }
  __device__ Eight take(const Raw& raw, int64 row) const {
    const Eight value = unpack(raw.x);
    Eight gradient = unpack(raw.dy);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const Share share = share_at(value.v[i], is_tanh);
      gradient.v[i] *= share.value + value.v[i] * share.slope;
    }
    store(dx + row * channels, gradient);
    return gradient;
  }
};

__device__ __forceinline__ int64 first_column() {
  return static_cast<int64>(blockIdx.x) * 64 + threadIdx.x % kLanes * 8;
}

// Rows that a thread waits for at once: more need registers that keep a second block off the
// multiprocessor, which costs a fifth of the time.
constexpr int kTogether = 2;

template <typename Source>
__device__ __forceinline__ void sum_columns(const Source& source, int64 rows, int64 channels,
                                            float* partial, int* counter, float* out) {
  Eight sum = {};
  const int64 step = static_cast<int64>(gridDim.y) * kRowsAtOnce;
  for (int64 row = static_cast<int64>(blockIdx.y) * kRowsAtOnce + threadIdx.x / kLanes; row < rows;
       row += kTogether * step) {
    typename Source::Raw raw[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      if (row + k * step < rows) {
        raw[k] = source.read(row + k * step);
      }
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      if (row + k * step < rows) {
        const Eight value = source.take(raw[k], row + k * step);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          sum.v[i] += value.v[i];
        }
      }
    }
  }
  const Eight none = {};
  float total[2];
  if (sum_over_rows(sum, none, partial, counter, channels, total) && threadIdx.x < 64) {
    out[static_cast<int64>(blockIdx.x) * 64 + threadIdx.x] = total[0];
  }
}

extern "C" __global__ void __launch_bounds__(512, 2)
sums(const bfloat16* x, int64 rows, int64 channels, float* partial, int* counter, float* out) {
  sum_columns(Plain{x + first_column(), channels}, rows, channels, partial, counter, out);
}

extern "C" __global__ void __launch_bounds__(512, 2)
gelu_sums(const bfloat16* x, const bfloat16* dy, bfloat16* dx, int is_tanh, int64 rows,
          int64 channels, float* partial, int* counter, float* out) {
  const int64 first = first_column();
  sum_columns(ThroughGelu{x + first, dy + first, dx + first, channels, is_tanh}, rows, channels,
              partial, counter, out);
}

extern "C" __global__ void __launch_bounds__(512, 2)
joined_sums(const bfloat16* a, const bfloat16* b, const bfloat16* c, bfloat16* whole, int64 rows,
            int64 channels, float* partial, int* counter, float* out) {
  const int64 first = first_column();
  const int64 width = channels / 3;
  const int64 which = first / width;
  const bfloat16* part = which == 0 ? a : which == 1 ? b : c;
  sum_columns(Joined{part + first % width, width, whole + first}, rows, channels, partial, counter,
              out);
}
)cuda";

// How columns are summed: tiles of them beside each other, several blocks down each.
struct Sums {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  at::Tensor partial;
  at::Tensor out;

  Sums(std::int64_t row_count, std::int64_t column_count, at::Device device)
      : rows(row_count), columns(column_count) {
    const auto floats = torch::TensorOptions(torch::kFloat).device(device);
    partial = torch::empty({blocks_of_tile(), 2, columns}, floats);
    out = torch::empty({columns}, floats);
  }

  std::int64_t blocks_of_tile() const {
    return std::clamp<std::int64_t>(kBlocks / (columns / kTile), 1,
                                    std::max<std::int64_t>(1, rows / kRowsAtOnce));
  }

  device::Grid grid() const {
    return {.blocks = static_cast<unsigned>(columns / kTile),
            .blocks_y = static_cast<unsigned>(blocks_of_tile()),
            .threads = kSumThreads};
  }
};

at::Tensor as_rows(const at::Tensor& tensor) {
  return tensor.reshape({-1, tensor.size(-1)}).contiguous();
}

at::Tensor sum_columns(LinearKernels& kernels, const at::Tensor& x) {
  const Sums sums(x.size(0), x.size(1), x.device());
  (*kernels.sums)(sums.grid(), x.const_data_ptr(), sums.rows, sums.columns,
                  sums.partial.mutable_data_ptr(), kernels.counters.mutable_data_ptr(),
                  sums.out.mutable_data_ptr());
  return sums.out;
}

// Of inputs and weight, from the gradient `dy` [rows, columns] of the product.
variable_list gradients_of(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                           const at::Tensor& bias_gradient) {
  const at::Tensor rows = x.reshape({-1, x.size(-1)});
  // libtorch has products of bfloat16 that give float32 on a GPU only.
  const at::Tensor weight_gradient = dy.is_cpu() ? dy.t().to(at::kFloat).mm(rows.to(at::kFloat))
                                                 : at::mm(dy.t(), rows, at::kFloat);
  return {dy.mm(weight).view(x.sizes()), weight_gradient, bias_gradient};
}

class LinearFunction : public torch::autograd::Function<LinearFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, device::Activation activation,
                            LinearKernels* kernels) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCUDA);
    const at::Tensor low_weight = weight.to(at::kBFloat16);
    at::Tensor product = torch::linear(x, low_weight, bias.to(at::kBFloat16));
    ctx->saved_data["kernels"] = reinterpret_cast<std::int64_t>(kernels);
    ctx->saved_data["activation"] = static_cast<std::int64_t>(activation);
    if (activation == device::Activation::None) {
      ctx->save_for_backward({x, low_weight});
      return product;
    }
    ctx->save_for_backward({x, low_weight, product});
    at::Tensor y = torch::empty_like(product);
    const std::int64_t units = product.numel() / kColumnsOfThread;
    (*kernels->gelu)({.blocks = static_cast<unsigned>((units + kGeluUnits - 1) / kGeluUnits),
                      .threads = kGeluThreads},
                     product.const_data_ptr(), y.mutable_data_ptr(), units, is_tanh(activation));
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    auto& kernels = *reinterpret_cast<LinearKernels*>(ctx->saved_data["kernels"].toInt());
    const auto activation = static_cast<device::Activation>(ctx->saved_data["activation"].toInt());
    const variable_list saved = ctx->get_saved_variables();
    at::Tensor dy = as_rows(gradients[0]);
    at::Tensor bias_gradient;
    if (activation == device::Activation::None) {
      bias_gradient = sum_columns(kernels, dy);
    } else {
      const Sums sums(dy.size(0), dy.size(1), dy.device());
      const at::Tensor upstream = std::exchange(dy, torch::empty_like(dy));
      (*kernels.gelu_sums)(sums.grid(), saved[2].const_data_ptr(), upstream.const_data_ptr(),
                           dy.mutable_data_ptr(), is_tanh(activation), sums.rows, sums.columns,
                           sums.partial.mutable_data_ptr(), kernels.counters.mutable_data_ptr(),
                           sums.out.mutable_data_ptr());
      bias_gradient = sums.out;
    }
    variable_list result = gradients_of(dy, saved[0], saved[1], bias_gradient);
    result.resize(kInputs);
    return result;
  }

 private:
  static constexpr std::size_t kInputs = 5;

  static int is_tanh(device::Activation activation) {
    return activation == device::Activation::GeluTanh ? 1 : 0;
  }
};

class LinearThirdsFunction : public torch::autograd::Function<LinearThirdsFunction> {
 public:
  static variable_list forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                               const at::Tensor& bias, LinearKernels* kernels) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCUDA);
    const at::Tensor low_weight = weight.to(at::kBFloat16);
    ctx->save_for_backward({x, low_weight});
    ctx->saved_data["kernels"] = reinterpret_cast<std::int64_t>(kernels);
    // Autograd must not see that the parts share memory: each has its own gradient.
    const at::AutoDispatchBelowADInplaceOrView plain_tensors;
    return torch::linear(x, low_weight, bias.to(at::kBFloat16)).chunk(3, -1);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    auto& kernels = *reinterpret_cast<LinearKernels*>(ctx->saved_data["kernels"].toInt());
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor a = as_rows(gradients[0]);
    const at::Tensor b = as_rows(gradients[1]);
    const at::Tensor c = as_rows(gradients[2]);
    const Sums sums(a.size(0), 3 * a.size(1), a.device());
    const at::Tensor dy = torch::empty({sums.rows, sums.columns}, a.options());
    (*kernels.joined_sums)(sums.grid(), a.const_data_ptr(), b.const_data_ptr(), c.const_data_ptr(),
                           dy.mutable_data_ptr(), sums.rows, sums.columns,
                           sums.partial.mutable_data_ptr(), kernels.counters.mutable_data_ptr(),
                           sums.out.mutable_data_ptr());
    variable_list result = gradients_of(dy, saved[0], saved[1], sums.out);
    result.emplace_back();
    return result;
  }
};

}  // namespace

Result<LinearKernels> make_linear_kernels(device::Plugin& plugin) {
  const Program program =
      KEDGE_TRY(Program::make(plugin, kCudaPrelude + kSumSource + kLinearSource, "linear"));
  const auto counters = torch::TensorOptions(torch::kInt).device(plugin.device());
  return LinearKernels{.counters = torch::zeros({kMostColumnTiles}, counters),
                       .sums = KEDGE_TRY(program.kernel("sums")),
                       .gelu = KEDGE_TRY(program.kernel("gelu_of")),
                       .gelu_sums = KEDGE_TRY(program.kernel("gelu_sums")),
                       .joined_sums = KEDGE_TRY(program.kernel("joined_sums"))};
}

bool can_linear(const device::LinearStep& step) {
  const std::int64_t columns = step.weight.size(0);
  return step.x.scalar_type() == at::kBFloat16 && step.x.numel() > 0 &&
         step.weight.scalar_type() == at::kFloat && step.bias.defined() && columns % kTile == 0 &&
         columns <= kTile * kMostColumnTiles && step.activation != device::Activation::Relu;
}

at::Tensor linear(LinearKernels& kernels, const device::LinearStep& step) {
  return LinearFunction::apply(step.x, step.weight, step.bias, step.activation, &kernels);
}

bool can_linear_thirds(const device::LinearStep& step) {
  return can_linear(step) && step.weight.size(0) % (3 * kTile) == 0 &&
         step.activation == device::Activation::None;
}

std::vector<at::Tensor> linear_thirds(LinearKernels& kernels, const device::LinearStep& step) {
  return LinearThirdsFunction::apply(step.x, step.weight, step.bias, &kernels);
}

}  // namespace kedge::kernels
