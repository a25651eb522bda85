#include "kernels/internal/gated.h"

#include <cstdint>

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

constexpr unsigned kGatedThreads = 256;

// Eight columns a thread; stride: from row to row of what is read.
constexpr char kGatedSource[] = R"cuda(
struct Place {
  int64 row, column;
};

__device__ __forceinline__ Place place_of(int64 unit, int64 width) {
  const int64 units = width / 8;
  return {unit / units, unit % units * 8};
}

extern "C" __global__ void __launch_bounds__(256)
forward(const bfloat16* gate, const bfloat16* up, int64 stride, int64 width, int64 units,
        bfloat16* out) {
  const int64 unit = static_cast<int64>(blockIdx.x) * 256 + threadIdx.x;
  if (unit >= units) {
    return;
  }
  const Place place = place_of(unit, width);
  const int64 at = place.row * stride + place.column;
  const Eight g = load(gate + at);
  Eight value = load(up + at);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    value.v[i] *= __fdividef(g.v[i], 1.0f + __expf(-g.v[i]));
  }
  store(out + unit * 8, value);
}

// out [rows, 2 width]: the gate's gradient beside the other's.
extern "C" __global__ void __launch_bounds__(256)
backward(const bfloat16* gate, const bfloat16* up, int64 stride, const bfloat16* gradient,
         int64 width, int64 units, bfloat16* out) {
  const int64 unit = static_cast<int64>(blockIdx.x) * 256 + threadIdx.x;
  if (unit >= units) {
    return;
  }
  const Place place = place_of(unit, width);
  const int64 at = place.row * stride + place.column;
  const Eight g = load(gate + at);
  const Eight u = load(up + at);
  const Eight dy = load(gradient + unit * 8);
  Eight dg;
  Eight du;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float open = __fdividef(1.0f, 1.0f + __expf(-g.v[i]));
    du.v[i] = dy.v[i] * g.v[i] * open;
    dg.v[i] = dy.v[i] * u.v[i] * open * (1.0f + g.v[i] * (1.0f - open));
  }
  bfloat16* row = out + place.row * 2 * width + place.column;
  store(row, dg);
  store(row + width, du);
}
)cuda";

unsigned blocks_for(std::int64_t units) {
  return static_cast<unsigned>((units + kGatedThreads - 1) / kGatedThreads);
}

class GatedFunction : public torch::autograd::Function<GatedFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& gate, const at::Tensor& up,
                            GatedKernels* kernels) {
    ctx->save_for_backward({gate, up});
    ctx->saved_data["kernels"] = reinterpret_cast<std::int64_t>(kernels);
    at::Tensor out = torch::empty(gate.sizes(), gate.options());
    const std::int64_t units = out.numel() / kEight;
    (*kernels->forward)({.blocks = blocks_for(units), .threads = kGatedThreads},
                        gate.const_data_ptr(), up.const_data_ptr(), row_stride(gate), gate.size(-1),
                        units, out.mutable_data_ptr());
    return out;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    auto* kernels = reinterpret_cast<GatedKernels*>(ctx->saved_data["kernels"].toInt());
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor& gate = saved[0];
    const std::int64_t width = gate.size(-1);
    const at::Tensor dy = gradients[0].contiguous();
    std::vector<std::int64_t> sizes = gate.sizes().vec();
    sizes.back() *= 2;
    at::Tensor both = torch::empty(sizes, gate.options());
    const std::int64_t units = dy.numel() / kEight;
    (*kernels->backward)({.blocks = blocks_for(units), .threads = kGatedThreads},
                         gate.const_data_ptr(), saved[1].const_data_ptr(), row_stride(gate),
                         dy.const_data_ptr(), width, units, both.mutable_data_ptr());
    return {both.narrow(-1, 0, width), both.narrow(-1, width, width), {}};
  }
};

}  // namespace

Result<GatedKernels> make_gated_kernels(device::Plugin& plugin) {
  const Program program = KEDGE_TRY(Program::make(plugin, kCudaPrelude + kGatedSource, "gated"));
  return GatedKernels{.forward = KEDGE_TRY(program.kernel("forward")),
                      .backward = KEDGE_TRY(program.kernel("backward"))};
}

bool can_gate(const at::Tensor& gate, const at::Tensor& up) {
  return gate.scalar_type() == at::kBFloat16 && up.scalar_type() == at::kBFloat16 &&
         gate.numel() > 0 && gate.sizes() == up.sizes() && has_rows(gate) && has_rows(up) &&
         row_stride(gate) == row_stride(up) && gate.size(-1) % kEight == 0 &&
         row_stride(gate) % kEight == 0;
}

at::Tensor gated(GatedKernels& kernels, const at::Tensor& gate, const at::Tensor& up) {
  return GatedFunction::apply(gate, up, &kernels);
}

}  // namespace kedge::kernels
