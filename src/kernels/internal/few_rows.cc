#include "kernels/internal/few_rows.h"

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <torch/types.h>

#include "kernels/internal/cuda_source.h"
#include "kernels/internal/kernel_cache.h"
#include "kernels/internal/nf4_source.h"
#include "kernels/internal/rows.h"

namespace kedge::kernels {
namespace {

constexpr std::int64_t kFewRows = 8;
constexpr std::int64_t kOutputsOfBlock = 4;
constexpr unsigned kFewRowsThreads = 256;
constexpr std::int64_t kPackedStep = 16;  // values of few bits that a thread reads at once
constexpr std::int64_t kNf4Block = 64;    // values that share a scale

// A block makes four outputs of each row: its threads divide the sum among them, so that each reads
// from four places of the matrix at once and every value of x serves four times.
constexpr char kFewRowsSource[] = R"cuda(
struct Bfloat16s {
  const bfloat16* data;
  int64 in;

  static constexpr int kEights = 1;
  using Raw = uint4;
  __device__ Raw read(int64 row, int64 k) const { return load_raw(data + row * in + k); }
  __device__ Eight take(const Raw& raw, int) const { return unpack(raw); }
  __device__ float scale(int64) const { return 1.0f; }
};

struct Int8s {
  const uint8* data;
  const float* scales;
  int64 in;

  static constexpr int kEights = 2;
  using Raw = uint4;
  __device__ Raw read(int64 row, int64 k) const {
    return *reinterpret_cast<const uint4*>(data + row * in + k);
  }
  __device__ Eight take(const Raw& raw, int eight) const {
    const unsigned words[2] = {eight == 0 ? raw.x : raw.z, eight == 0 ? raw.y : raw.w};
    Eight value;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      value.v[i] = static_cast<float>(static_cast<signed char>(words[i / 4] >> (8 * (i % 4))));
    }
    return value;
  }
  __device__ float scale(int64 row) const { return scales[row]; }
};

struct Nf4s {
  Nf4Scales scales;
  const uint8* codes;
  const float* entries;
  int64 in;

  static constexpr int kEights = 2;
  struct Raw {
    uint2 codes;
    float scale;
  };
  __device__ Raw read(int64 row, int64 k) const {
    const int64 at = row * in + k;
    return {*reinterpret_cast<const uint2*>(codes + at / 2), scales.of_block(at / 64)};
  }
  __device__ Eight take(const Raw& raw, int eight) const {
    return nf4_values(eight == 0 ? raw.codes.x : raw.codes.y, raw.scale, entries);
  }
  __device__ float scale(int64) const { return 1.0f; }
};

template <int kRows, typename Matrix>
__device__ __forceinline__ void multiply(const bfloat16* x, int64 stride, int64 rows,
                                         const Matrix& matrix, const bfloat16* bias, bfloat16* y,
                                         int64 y_stride, int64 out) {
  constexpr int kOutputs = 4;
  constexpr int kWarps = 256 / 32;
  constexpr int kStep = 8 * Matrix::kEights;
  const int64 first = static_cast<int64>(blockIdx.x) * kOutputs;
  float sum[kOutputs][kRows] = {};
  for (int64 k = threadIdx.x * kStep; k < matrix.in; k += 256 * kStep) {
    typename Matrix::Raw raw[kOutputs];
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) {
      raw[o] = matrix.read(first + o < out ? first + o : out - 1, k);
    }
#pragma unroll
    for (int e = 0; e < Matrix::kEights; ++e) {
      Eight factor[kOutputs];
#pragma unroll
      for (int o = 0; o < kOutputs; ++o) {
        factor[o] = matrix.take(raw[o], e);
      }
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const Eight value = load(x + (r < rows ? r : 0) * stride + k + 8 * e);
#pragma unroll
        for (int o = 0; o < kOutputs; ++o) {
#pragma unroll
          for (int i = 0; i < 8; ++i) {
            sum[o][r] += factor[o].v[i] * value.v[i];
          }
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
  float whole = 0.0f;
  for (int w = 0; w < kWarps; ++w) {
    whole += partial[w][threadIdx.x];
  }
  whole = whole * matrix.scale(first + o) + (bias == nullptr ? 0.0f : to_float(bias[first + o]));
  y[r * y_stride + first + o] = from_float<bfloat16>(whole);
}
)cuda";

std::string source_for_rows(unsigned rows) {
  return fmt::format(R"cuda(
extern "C" __global__ void __launch_bounds__(256)
bfloat16_{0}(const bfloat16* x, int64 stride, int64 rows, const bfloat16* bias, bfloat16* y,
             int64 y_stride, int64 in, int64 out, const bfloat16* matrix) {{
  multiply<{0}>(x, stride, rows, Bfloat16s{{matrix, in}}, bias, y, y_stride, out);
}}

extern "C" __global__ void __launch_bounds__(256)
int8_{0}(const bfloat16* x, int64 stride, int64 rows, const bfloat16* bias, bfloat16* y,
         int64 y_stride, int64 in, int64 out, const uint8* codes, const float* scales) {{
  multiply<{0}>(x, stride, rows, Int8s{{codes, scales, in}}, bias, y, y_stride, out);
}}

extern "C" __global__ void __launch_bounds__(256)
nf4_{0}(const bfloat16* x, int64 stride, int64 rows, const bfloat16* bias, bfloat16* y,
        int64 y_stride, int64 in, int64 out, const uint8* codes, const float* exact_scales,
        const uint8* scales, const float* nested_scales, const float* nested_table,
        const float* offset) {{
  __shared__ float entries[16];
  copy_nf4_entries(entries);
  multiply<{0}>(x, stride, rows,
                Nf4s{{{{exact_scales, scales, nested_scales, nested_table, offset}}, codes, entries,
                     in}},
                bias, y, y_stride, out);
}}
)cuda",
                     rows);
}

Result<FewRowsKernels::OfRows> find_kernels(const Program& program, std::string_view name) {
  FewRowsKernels::OfRows kernels;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    kernels[i] = KEDGE_TRY(program.kernel(fmt::format("{}_{}", name, 1U << i)));
  }
  return kernels;
}

bool has_few_rows(const at::Tensor& x) {
  return x.scalar_type() == at::kBFloat16 && x.numel() > 0 && x.size(0) <= kFewRows &&
         has_rows(x) && row_stride(x) % kEight == 0;
}

const void* pointer_of(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr() : nullptr;
}

template <typename... Values>
void launch(FewRowsKernels::OfRows& kernels, const at::Tensor& x, const at::Tensor& bias,
            const at::Tensor& y, Values... matrix) {
  const std::int64_t rows = x.size(0);
  const std::int64_t out = y.size(1);
  const auto which =
      static_cast<std::size_t>(std::bit_width(std::bit_ceil(static_cast<std::uint64_t>(rows))) - 1);
  (*kernels[which])({.blocks = static_cast<unsigned>((out + kOutputsOfBlock - 1) / kOutputsOfBlock),
                     .threads = kFewRowsThreads},
                    x.const_data_ptr(), row_stride(x), rows, pointer_of(bias), y.mutable_data_ptr(),
                    row_stride(y), x.size(1), out, matrix...);
}

}  // namespace

Result<FewRowsKernels> make_few_rows_kernels(device::Plugin& plugin) {
  std::string source = kCudaPrelude + kNf4Source + kFewRowsSource;
  for (const unsigned rows : {1U, 2U, 4U, 8U}) {
    source += source_for_rows(rows);
  }
  const Program program = KEDGE_TRY(Program::make(plugin, source, "few_rows"));
  return FewRowsKernels{.bfloat16 = KEDGE_TRY(find_kernels(program, "bfloat16")),
                        .int8 = KEDGE_TRY(find_kernels(program, "int8")),
                        .nf4 = KEDGE_TRY(find_kernels(program, "nf4"))};
}

bool can_multiply_few_rows(const at::Tensor& x, const at::Tensor& matrix) {
  return has_few_rows(x) && matrix.scalar_type() == at::kBFloat16 && matrix.is_contiguous() &&
         matrix.size(1) % kEight == 0;
}

bool can_multiply_few_rows(const at::Tensor& x, const device::Int8Matrix& matrix) {
  return has_few_rows(x) && matrix.codes.is_contiguous() && matrix.codes.size(1) % kPackedStep == 0;
}

bool can_multiply_few_rows(const at::Tensor& x, const device::Nf4Matrix& matrix) {
  return has_few_rows(x) && matrix.columns % kNf4Block == 0;
}

void multiply_few_rows(FewRowsKernels& kernels, const at::Tensor& x, const at::Tensor& matrix,
                       const at::Tensor& bias, const at::Tensor& y) {
  launch(kernels.bfloat16, x, bias, y, matrix.const_data_ptr());
}

void multiply_few_rows(FewRowsKernels& kernels, const at::Tensor& x,
                       const device::Int8Matrix& matrix, const at::Tensor& bias,
                       const at::Tensor& y) {
  launch(kernels.int8, x, bias, y, matrix.codes.const_data_ptr(), matrix.scales.const_data_ptr());
}

void multiply_few_rows(FewRowsKernels& kernels, const at::Tensor& x,
                       const device::Nf4Matrix& matrix, const at::Tensor& bias,
                       const at::Tensor& y) {
  const bool is_nested = matrix.offset.defined();
  launch(kernels.nf4, x, bias, y, matrix.codes.const_data_ptr(),
         is_nested ? nullptr : matrix.scales.const_data_ptr(),
         is_nested ? matrix.scales.const_data_ptr() : nullptr, pointer_of(matrix.nested_scales),
         pointer_of(matrix.nested_table), pointer_of(matrix.offset));
}

}  // namespace kedge::kernels
