#include "kernels/internal/few_rows.h"

#include <bit>
#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <torch/types.h>

#include "kernels/internal/cuda_source.h"
#include "kernels/internal/kernel_cache.h"
#include "kernels/internal/rows.h"

namespace kedge::kernels {
namespace {

constexpr std::int64_t kFewRows = 8;
constexpr std::int64_t kOutputsOfBlock = 4;
constexpr unsigned kFewRowsThreads = 256;

// A block makes four outputs of each row: its threads divide the sum among them, so that each reads
// from four places of the matrix at once and every value of x serves four times.
constexpr char kFewRowsSource[] = R"cuda(
template <int kRows>
__device__ __forceinline__ void multiply(const bfloat16* x, int64 stride, int64 rows,
                                         const bfloat16* weight, const bfloat16* bias,
                                         bfloat16* y, int64 in, int64 out) {
  constexpr int kOutputs = 4;
  constexpr int kWarps = 256 / 32;
  const int64 first = static_cast<int64>(blockIdx.x) * kOutputs;
  float sum[kOutputs][kRows] = {};
  for (int64 k = threadIdx.x * 8; k < in; k += 256 * 8) {
    uint4 raw[kOutputs];
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) {
      const int64 from = first + o < out ? first + o : out - 1;
      raw[o] = load_raw(weight + from * in + k);
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const Eight value = load(x + (r < rows ? r : 0) * stride + k);
#pragma unroll
      for (int o = 0; o < kOutputs; ++o) {
        const Eight factor = unpack(raw[o]);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          sum[o][r] += factor.v[i] * value.v[i];
        }
      }
    }
  }
  __shared__ float partial[kWarps][kOutputs * kRows];
#pragma unroll
  for (int o = 0; o < kOutputs; ++o) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float whole = sum_of_warp(sum[o][r]);
      if (threadIdx.x % 32 == 0) {
        partial[threadIdx.x / 32][o * kRows + r] = whole;
      }
    }
  }
  __syncthreads();
  const int o = threadIdx.x / kRows;
  const int r = threadIdx.x % kRows;
  if (threadIdx.x >= kOutputs * kRows || first + o >= out || r >= rows) {
    return;
  }
  float whole = bias == nullptr ? 0.0f : to_float(bias[first + o]);
  for (int w = 0; w < kWarps; ++w) {
    whole += partial[w][threadIdx.x];
  }
  y[r * out + first + o] = from_float<bfloat16>(whole);
}
)cuda";

std::string source_for_rows(unsigned rows) {
  return fmt::format(R"cuda(
extern "C" __global__ void __launch_bounds__(256)
multiply_{0}(const bfloat16* x, int64 stride, int64 rows, const bfloat16* weight,
             const bfloat16* bias, bfloat16* y, int64 in, int64 out) {{
  multiply<{0}>(x, stride, rows, weight, bias, y, in, out);
}}
)cuda",
                     rows);
}

}  // namespace

Result<FewRowsKernels> make_few_rows_kernels(device::Plugin& plugin) {
  std::string source = kCudaPrelude + kFewRowsSource;
  FewRowsKernels kernels;
  for (std::size_t i = 0; i < kernels.of_rows.size(); ++i) {
    source += source_for_rows(1U << i);
  }
  const Program program = KEDGE_TRY(Program::make(plugin, source, "few_rows"));
  for (std::size_t i = 0; i < kernels.of_rows.size(); ++i) {
    kernels.of_rows[i] = KEDGE_TRY(program.kernel(fmt::format("multiply_{}", 1U << i)));
  }
  return kernels;
}

bool can_multiply_few_rows(const at::Tensor& x, const at::Tensor& weight) {
  return x.scalar_type() == at::kBFloat16 && weight.scalar_type() == at::kBFloat16 &&
         x.numel() > 0 && x.numel() / x.size(-1) <= kFewRows && has_rows(x) &&
         row_stride(x) % kEight == 0 && weight.is_contiguous() && weight.size(1) % kEight == 0;
}

at::Tensor multiply_few_rows(FewRowsKernels& kernels, const at::Tensor& x, const at::Tensor& weight,
                             const at::Tensor& bias) {
  const std::int64_t rows = x.numel() / x.size(-1);
  const std::int64_t out = weight.size(0);
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes.back() = out;
  at::Tensor y = torch::empty(sizes, x.options());
  const auto kernel =
      static_cast<std::size_t>(std::bit_width(std::bit_ceil(static_cast<std::uint64_t>(rows))) - 1);
  (*kernels.of_rows[kernel])(
      {.blocks = static_cast<unsigned>((out + kOutputsOfBlock - 1) / kOutputsOfBlock),
       .threads = kFewRowsThreads},
      x.const_data_ptr(), rows > 1 ? row_stride(x) : x.size(-1), rows, weight.const_data_ptr(),
      bias.defined() ? bias.const_data_ptr() : nullptr, y.mutable_data_ptr(), weight.size(1), out);
  return y;
}

}  // namespace kedge::kernels
