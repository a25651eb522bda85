#include "kernels/internal/nf4.h"

#include <cstdint>
#include <numeric>

#include <torch/types.h>

#include "kernels/internal/cuda_source.h"
#include "kernels/internal/kernel_cache.h"
#include "kernels/internal/nf4_source.h"
#include "kernels/internal/rows.h"

namespace kedge::kernels {
namespace {

constexpr unsigned kUnpackThreads = 256;
constexpr std::int64_t kScaled = 64;  // values that share a scale

// Eight values a thread.
constexpr char kUnpackSource[] = R"cuda(
extern "C" __global__ void __launch_bounds__(256)
unpack(const uint8* codes, const float* exact_scales, const uint8* scales,
       const float* nested_scales, const float* nested_table, const float* offset, int64 units,
       bfloat16* out) {
  __shared__ float entries[16];
  copy_nf4_entries(entries);
  const int64 unit = static_cast<int64>(blockIdx.x) * 256 + threadIdx.x;
  if (unit >= units) {
    return;
  }
  const Nf4Scales all = {exact_scales, scales, nested_scales, nested_table, offset};
  const unsigned word = reinterpret_cast<const unsigned*>(codes)[unit];
  store(out + unit * 8, nf4_values(word, all.of_block(unit / 8), entries));
}
)cuda";

}  // namespace

Result<Nf4Kernels> make_nf4_kernels(device::Plugin& plugin) {
  const Program program =
      KEDGE_TRY(Program::make(plugin, kCudaPrelude + kNf4Source + kUnpackSource, "nf4"));
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
