#include "kernels/internal/nf4.h"

#include <cstdint>
#include <numeric>

#include <torch/types.h>

#include "kernels/internal/cuda_source.h"
#include "kernels/internal/kernel_cache.h"
#include "kernels/internal/rows.h"

namespace kedge::kernels {
namespace {

constexpr unsigned kUnpackThreads = 256;
constexpr std::int64_t kScaled = 64;  // values that share a scale

// Eight values a thread. Sums and products are rounded apart, as the plain operations do it.
constexpr char kUnpackSource[] = R"cuda(
__device__ const float kEntries[16] = {
    -1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
    -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0.0f,
    0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f, 0.33791524171829224f,
    0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1.0f};

// `exact_scales`, or `scales` and what they are numbers of; the others are null.
extern "C" __global__ void __launch_bounds__(256)
unpack(const uint8* codes, const float* exact_scales, const uint8* scales,
       const float* nested_scales, const float* nested_table, const float* offset, int64 units,
       bfloat16* out) {
  __shared__ float entries[16];
  if (threadIdx.x < 16) {
    entries[threadIdx.x] = kEntries[threadIdx.x];
  }
  __syncthreads();
  const int64 unit = static_cast<int64>(blockIdx.x) * 256 + threadIdx.x;
  if (unit >= units) {
    return;
  }
  const int64 block = unit / 8;
  const float scale =
      exact_scales != nullptr
          ? exact_scales[block]
          : __fadd_rn(__fmul_rn(nested_table[scales[block]], nested_scales[block / 256]), *offset);
  const unsigned word = reinterpret_cast<const unsigned*>(codes)[unit];
  Eight value;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned byte = word >> (8 * i) & 0xffu;
    value.v[2 * i] = entries[byte >> 4] * scale;
    value.v[2 * i + 1] = entries[byte & 15u] * scale;
  }
  store(out + unit * 8, value);
}
)cuda";

}  // namespace

Result<Nf4Kernels> make_nf4_kernels(device::Plugin& plugin) {
  const Program program = KEDGE_TRY(Program::make(plugin, kCudaPrelude + kUnpackSource, "nf4"));
  return Nf4Kernels{.unpack = KEDGE_TRY(program.kernel("unpack"))};
}

bool can_unpack(const device::Nf4Matrix& matrix) {
  return matrix.rows * matrix.columns > 0 && matrix.rows * matrix.columns % kScaled == 0;
}

at::Tensor unpack(const Nf4Kernels& kernels, const std::vector<device::Nf4Matrix>& matrices) {
  const std::int64_t rows =
      std::accumulate(matrices.begin(), matrices.end(), std::int64_t{0},
                      [](std::int64_t sum, const auto& matrix) { return sum + matrix.rows; });
  at::Tensor all = torch::empty({rows, matrices.front().columns},
                                matrices.front().codes.options().dtype(at::kBFloat16));
  std::int64_t begin = 0;
  for (const device::Nf4Matrix& matrix : matrices) {
    const std::int64_t units = matrix.rows * matrix.columns / kEight;
    const bool is_nested = matrix.offset.defined();
    const auto pointer = [](const at::Tensor& tensor) {
      return tensor.defined() ? tensor.const_data_ptr() : nullptr;
    };
    (*kernels.unpack)(
        {.blocks = static_cast<unsigned>((units + kUnpackThreads - 1) / kUnpackThreads),
         .threads = kUnpackThreads},
        pointer(matrix.codes), is_nested ? nullptr : pointer(matrix.scales),
        is_nested ? pointer(matrix.scales) : nullptr, pointer(matrix.nested_scales),
        pointer(matrix.nested_table), pointer(matrix.offset), units,
        all.narrow(0, begin, matrix.rows).mutable_data_ptr());
    begin += matrix.rows;
  }
  return all;
}

}  // namespace kedge::kernels
