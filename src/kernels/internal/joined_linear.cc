#include "kernels/internal/joined_linear.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <utility>

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

constexpr unsigned kRotateThreads = 256;
constexpr std::size_t kMostRotatedParts = 3;

// A head's pairs are its two halves. A thread turns eight pairs.
constexpr char kRotateSource[] = R"cuda(
struct Turn {
  const float* cosines;  // [positions, half]
  const float* sines;
  const int64* positions;  // of rows, the same again after `count`
  int64 count;
  int64 half;
};

__device__ __forceinline__ void turn_pairs(const Turn& turn, int64 row, int64 in_half, float sign,
                                           Eight& first, Eight& second) {
  const int64 at = turn.positions[row % turn.count] * turn.half + in_half;
  const Eight c = load_floats(turn.cosines + at);
  const Eight s = load_floats(turn.sines + at);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float a = first.v[i];
    const float b = second.v[i];
    first.v[i] = a * c.v[i] - b * s.v[i] * sign;
    second.v[i] = b * c.v[i] + a * s.v[i] * sign;
  }
}

// Of the unit-th eight pairs of a row: the column of their first halves.
__device__ __forceinline__ int64 column_of(int64 unit, int64 half) {
  return unit / (half / 8) * 2 * half + unit % (half / 8) * 8;
}

extern "C" __global__ void __launch_bounds__(256)
rotate(bfloat16* y, int64 rows, int64 stride, int64 columns, const float* cosines,
       const float* sines, const int64* positions, int64 count, int64 half) {
  const Turn turn = {cosines, sines, positions, count, half};
  const int64 units = columns / 16;
  const int64 index = static_cast<int64>(blockIdx.x) * 256 + threadIdx.x;
  if (index >= rows * units) {
    return;
  }
  const int64 row = index / units;
  const int64 column = column_of(index % units, half);
  bfloat16* at = y + row * stride + column;
  Eight first = load(at);
  Eight second = load(at + half);
  turn_pairs(turn, row, column % (2 * half), 1.0f, first, second);
  store(at, first);
  store(at + half, second);
}

struct Part {
  const bfloat16* data;
  int64 stride;
  int64 begin;  // its first column in the whole
};

// out [rows, columns]: the parts side by side, the first `rotated` columns turned back.
extern "C" __global__ void __launch_bounds__(256)
join_rotated(const bfloat16* a, const bfloat16* b, const bfloat16* c, int64 stride_a,
             int64 stride_b, int64 stride_c, int64 begin_b, int64 begin_c, bfloat16* out,
             int64 rows, int64 columns, int64 rotated, const float* cosines, const float* sines,
             const int64* positions, int64 count, int64 half) {
  const Turn turn = {cosines, sines, positions, count, half};
  const int64 pairs = rotated / 16;
  const int64 units = pairs + (columns - rotated) / 8;
  const int64 index = static_cast<int64>(blockIdx.x) * 256 + threadIdx.x;
  if (index >= rows * units) {
    return;
  }
  const int64 row = index / units;
  const int64 unit = index % units;
  const bool is_turned = unit < pairs;
  const int64 column = is_turned ? column_of(unit, half) : rotated + (unit - pairs) * 8;
  const Part part = column < begin_b   ? Part{a, stride_a, 0}
                    : column < begin_c ? Part{b, stride_b, begin_b}
                                       : Part{c, stride_c, begin_c};
  const bfloat16* from = part.data + row * part.stride + column - part.begin;
  bfloat16* to = out + row * columns + column;
  if (!is_turned) {
    *reinterpret_cast<uint4*>(to) = load_raw(from);
    return;
  }
  Eight first = load(from);
  Eight second = load(from + half);
  turn_pairs(turn, row, column % (2 * half), -1.0f, first, second);
  store(to, first);
  store(to + half, second);
}
)cuda";

// The low-rank adapter of one part.
struct Low {
  std::int64_t column = 0;  // its first in the product
  std::int64_t width = 0;
  std::int64_t begin = 0;  // its first row among the adapters' a
  std::int64_t rank = 0;
  double scale = 1;
};

// What the backward pass needs beside the saved tensors.
struct Joint : torch::CustomClassHolder {
  JoinedLinearKernels* kernels = nullptr;
  std::vector<std::int64_t> widths;       // of the parts
  std::vector<device::Nf4Matrix> packed;  // the weights, or empty: they are parameters
  std::vector<device::Int8Matrix> bytes;  // the same; nobody asks for gradients then
  std::vector<Low> lows;
  device::Rotation rotation;
  bool has_bias = false;

  std::int64_t columns() const {
    return std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
  }

  std::size_t bias_count() const { return has_bias ? widths.size() : 0; }
};

// The inputs of the function after x, one list after the other: autograd takes no undefined ones.
struct Parameters {
  at::TensorList weights;
  at::TensorList biases;
  at::TensorList a;
  at::TensorList b;

  Parameters(const Joint& joint, at::TensorList all)
      : weights(all.slice(0, joint.widths.size())),
        biases(all.slice(weights.size(), joint.bias_count())),
        a(all.slice(weights.size() + biases.size(), joint.lows.size())),
        b(all.slice(weights.size() + biases.size() + a.size(), joint.lows.size())) {}
};

// The parts as one tensor over the same memory, or undefined where they do not lie so: rows after
// rows (dimension 0), or columns beside columns (1).
at::Tensor adjoining(at::TensorList parts, std::int64_t dimension) {
  const at::Tensor& first = parts.front();
  std::int64_t size = 0;
  for (const at::Tensor& part : parts) {
    const auto* expected = static_cast<const std::uint8_t*>(first.const_data_ptr()) +
                           size * first.stride(dimension) * first.element_size();
    if (part.const_data_ptr() != expected || part.strides() != first.strides() ||
        part.scalar_type() != first.scalar_type() || !part.is_alias_of(first)) {
      return {};
    }
    size += part.size(dimension);
  }
  if (dimension == 1 && size > first.stride(0)) {
    return {};
  }
  std::vector<std::int64_t> sizes = first.sizes().vec();
  sizes[static_cast<std::size_t>(dimension)] = size;
  return first.as_strided(sizes, first.strides());
}

at::Tensor join_weights(const Joint& joint, at::TensorList weights) {
  if (!joint.packed.empty()) {
    return unpack(joint.kernels->nf4, joint.packed);
  }
  const at::Tensor together = adjoining(weights, 0);
  return (together.defined() ? together : torch::cat(weights)).to(at::kBFloat16);
}

at::Tensor multiply(const Joint& joint, const at::Tensor& rows, const at::Tensor& weight,
                    const at::Tensor& bias) {
  if (can_multiply_few_rows(rows, weight)) {
    at::Tensor y = torch::empty({rows.size(0), weight.size(0)}, rows.options());
    multiply_few_rows(joint.kernels->few_rows, rows, weight, bias, y);
    return y;
  }
  return bias.defined() ? at::addmm(bias, rows, weight.t()) : rows.mm(weight.t());
}

// Few rows with weights as they are kept; undefined where weights must be unpacked first.
at::Tensor multiply_packed(const Joint& joint, const at::Tensor& rows, const at::Tensor& bias) {
  const auto can = [&](const auto& matrix) { return can_multiply_few_rows(rows, matrix); };
  if ((joint.packed.empty() && joint.bytes.empty()) || !std::ranges::all_of(joint.packed, can) ||
      !std::ranges::all_of(joint.bytes, can)) {
    return {};
  }
  at::Tensor y = torch::empty({rows.size(0), joint.columns()}, rows.options());
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < joint.widths.size(); ++i) {
    const at::Tensor part = y.narrow(1, begin, joint.widths[i]);
    const at::Tensor its = bias.defined() ? bias.narrow(0, begin, joint.widths[i]) : bias;
    FewRowsKernels& kernels = joint.kernels->few_rows;
    if (joint.bytes.empty()) {
      multiply_few_rows(kernels, rows, joint.packed[i], its, part);
    } else {
      multiply_few_rows(kernels, rows, joint.bytes[i], its, part);
    }
    begin += joint.widths[i];
  }
  return y;
}

// Of the adapters, one below the other.
at::Tensor join_downs(at::TensorList a) {
  const at::Tensor together = adjoining(a, 0);
  return (together.defined() ? together : torch::cat(a)).to(at::kBFloat16);
}

unsigned blocks_of(std::int64_t units) {
  return static_cast<unsigned>((units + kRotateThreads - 1) / kRotateThreads);
}

void rotate(const Joint& joint, at::Tensor& y) {
  const device::Rotation& turn = joint.rotation;
  (*joint.kernels->rotate)(
      {.blocks = blocks_of(y.size(0) * turn.columns / (2 * kEight)), .threads = kRotateThreads},
      y.mutable_data_ptr(), y.size(0), y.stride(0), turn.columns, turn.cosines.const_data_ptr(),
      turn.sines.const_data_ptr(), turn.positions.const_data_ptr(), turn.positions.numel(),
      turn.cosines.size(1));
}

// A product's gradient out of those of its parts.
at::Tensor join_gradients(const Joint& joint, const std::vector<at::Tensor>& parts) {
  const device::Rotation& turn = joint.rotation;
  if (turn.columns == 0) {
    const at::Tensor together = adjoining(parts, 1);
    return together.defined() ? together : torch::cat(parts, 1);
  }
  std::array<at::Tensor, kMostRotatedParts> part;
  std::array<std::int64_t, kMostRotatedParts + 1> begin{};
  for (std::size_t i = 0; i < kMostRotatedParts; ++i) {
    part[i] = i < parts.size() ? parts[i] : parts.back();
    begin[i + 1] = begin[i] + (i < parts.size() ? parts[i].size(1) : 0);
  }
  const std::int64_t rows = part[0].size(0);
  at::Tensor out = torch::empty({rows, joint.columns()}, part[0].options());
  const std::int64_t units =
      turn.columns / (2 * kEight) + (joint.columns() - turn.columns) / kEight;
  (*joint.kernels->join_rotated)(
      {.blocks = blocks_of(rows * units), .threads = kRotateThreads}, part[0].const_data_ptr(),
      part[1].const_data_ptr(), part[2].const_data_ptr(), part[0].stride(0), part[1].stride(0),
      part[2].stride(0), begin[1], begin[2], out.mutable_data_ptr(), rows, joint.columns(),
      turn.columns, turn.cosines.const_data_ptr(), turn.sines.const_data_ptr(),
      turn.positions.const_data_ptr(), turn.positions.numel(), turn.cosines.size(1));
  return out;
}

// libtorch has products of bfloat16 that give float32 on a GPU only.
at::Tensor product_as(const at::Tensor& a, const at::Tensor& b, at::ScalarType type) {
  if (type == a.scalar_type()) {
    return a.mm(b);
  }
  return a.is_cpu() ? a.to(type).mm(b.to(type)) : at::mm(a, b, type);
}

class JoinedLinearFunction : public torch::autograd::Function<JoinedLinearFunction> {
 public:
  static variable_list forward(AutogradContext* ctx, const at::Tensor& x, at::TensorList all,
                               const c10::intrusive_ptr<Joint>& joint) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCUDA);
    const Parameters parameters(*joint, all);
    const at::Tensor rows = x.reshape({-1, x.size(-1)});
    const at::Tensor bias =
        joint->has_bias ? torch::cat(parameters.biases).to(at::kBFloat16) : at::Tensor();
    at::Tensor weight;
    at::Tensor y = multiply_packed(*joint, rows, bias);
    if (!y.defined()) {
      weight = join_weights(*joint, parameters.weights);
      y = multiply(*joint, rows, weight, bias);
    }
    variable_list saved = {rows};
    if (joint->packed.empty() && joint->bytes.empty()) {
      saved.push_back(weight);
    }
    if (!joint->lows.empty()) {
      const at::Tensor low = rows.mm(join_downs(parameters.a).t());
      for (std::size_t k = 0; k < joint->lows.size(); ++k) {
        const Low& its = joint->lows[k];
        y.narrow(1, its.column, its.width)
            .addmm_(low.narrow(1, its.begin, its.rank), parameters.b[k].to(at::kBFloat16).t(), 1,
                    its.scale);
      }
      saved.push_back(low);
    }
    if (joint->rotation.columns > 0) {
      rotate(*joint, y);
    }
    saved.insert(saved.end(), all.begin(), all.end());
    ctx->save_for_backward(saved);
    ctx->saved_data["joint"] = at::IValue::make_capsule(joint);
    ctx->saved_data["sizes"] = x.sizes().vec();
    std::vector<std::int64_t> sizes = x.sizes().vec();
    sizes.back() = joint->columns();
    // Autograd must not see that the parts share memory: each has its own gradient.
    const at::AutoDispatchBelowADInplaceOrView plain_tensors;
    return y.view(sizes).split_with_sizes(joint->widths, -1);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const auto joint =
        c10::static_intrusive_pointer_cast<Joint>(ctx->saved_data["joint"].toCapsule());
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor& x = saved[0];
    const std::size_t low = joint->packed.empty() ? 2 : 1;  // where the adapters' part is, if any
    const Parameters parameters(*joint,
                                at::TensorList(saved).slice(low + (joint->lows.empty() ? 0 : 1)));
    std::vector<at::Tensor> parts;
    for (const at::Tensor& gradient : gradients) {
      parts.push_back(has_rows(gradient) ? rows_of(gradient)
                                         : gradient.reshape({-1, gradient.size(-1)}).contiguous());
    }
    const at::Tensor dy = join_gradients(*joint, parts);
    at::Tensor dx =
        dy.mm(joint->packed.empty() ? saved[1] : unpack(joint->kernels->nf4, joint->packed));
    variable_list result(1);
    add_weight_gradients(*joint, parameters, dy, x, result);
    if (!joint->lows.empty()) {
      add_adapter_gradients(*joint, parameters, {.dy = dy, .x = x, .low = saved[low], .dx = dx},
                            result);
    }
    result[0] = dx.view(ctx->saved_data["sizes"].toIntVector());
    result.emplace_back();
    return result;
  }

 private:
  struct Products {
    const at::Tensor& dy;
    const at::Tensor& x;
    const at::Tensor& low;
    at::Tensor& dx;
  };

  // In the order of the parameters; undefined where they are frozen.
  static void add_weight_gradients(const Joint& joint, const Parameters& parameters,
                                   const at::Tensor& dy, const at::Tensor& x,
                                   variable_list& result) {
    at::Tensor dweight;
    at::Tensor dbias;
    const auto add = [&](const at::Tensor& own, std::size_t i, at::Tensor& all, auto&& make) {
      if (own.requires_grad() && !all.defined()) {
        all = make(own.scalar_type());
      }
      const auto begin = std::accumulate(
          joint.widths.begin(), joint.widths.begin() + static_cast<long>(i), std::int64_t{0});
      result.push_back(own.requires_grad() ? all.narrow(0, begin, joint.widths[i]) : at::Tensor());
    };
    for (std::size_t i = 0; i < parameters.weights.size(); ++i) {
      add(parameters.weights[i], i, dweight,
          [&](at::ScalarType type) { return product_as(dy.t(), x, type); });
    }
    for (std::size_t i = 0; i < parameters.biases.size(); ++i) {
      add(parameters.biases[i], i, dbias,
          [&](at::ScalarType type) { return dy.sum(0, /*keepdim=*/false, type); });
    }
  }

  static void add_adapter_gradients(const Joint& joint, const Parameters& parameters,
                                    const Products& products, variable_list& result) {
    const at::Tensor dlow = torch::empty_like(products.low);
    variable_list ups;
    for (std::size_t k = 0; k < joint.lows.size(); ++k) {
      const Low& its = joint.lows[k];
      const at::Tensor dy = products.dy.narrow(1, its.column, its.width);
      const at::Tensor& b = parameters.b[k];
      dlow.narrow(1, its.begin, its.rank).copy_(dy.mm(b.to(at::kBFloat16) * its.scale));
      ups.push_back(product_as(dy.t(), products.low.narrow(1, its.begin, its.rank), b.scalar_type())
                        .mul_(its.scale));
    }
    products.dx.addmm_(dlow, join_downs(parameters.a));
    const at::Tensor downs = product_as(dlow.t(), products.x, parameters.a.front().scalar_type());
    for (const Low& its : joint.lows) {
      result.push_back(downs.narrow(0, its.begin, its.rank));
    }
    result.insert(result.end(), ups.begin(), ups.end());
  }
};

// 8 bits are multiplied as they are kept, or by others.
bool can_multiply_bytes(const device::JoinedLinearStep& step) {
  if (step.bytes.empty()) {
    return true;
  }
  const at::Tensor rows = step.x.reshape({-1, step.x.size(-1)});
  return !at::GradMode::is_enabled() && step.bytes.size() == step.weights.size() &&
         std::ranges::all_of(step.bytes, [&](const device::Int8Matrix& matrix) {
           return can_multiply_few_rows(rows, matrix);
         });
}

bool can_rotate(const device::JoinedLinearStep& step) {
  const device::Rotation& turn = step.rotation;
  if (turn.columns == 0) {
    return true;
  }
  const std::int64_t half = turn.cosines.size(1);
  const auto is_whole = [&](const at::Tensor& weight) { return weight.size(0) % kEight == 0; };
  return half % kEight == 0 && turn.columns % (2 * half) == 0 &&
         step.weights.size() <= kMostRotatedParts && std::ranges::all_of(step.weights, is_whole) &&
         turn.cosines.scalar_type() == at::kFloat && turn.cosines.is_contiguous() &&
         turn.sines.is_contiguous() && turn.positions.is_contiguous();
}

}  // namespace

Result<JoinedLinearKernels> make_joined_linear_kernels(device::Plugin& plugin) {
  const Program program = KEDGE_TRY(Program::make(plugin, kCudaPrelude + kRotateSource, "rotate"));
  return JoinedLinearKernels{.nf4 = KEDGE_TRY(make_nf4_kernels(plugin)),
                             .rotate = KEDGE_TRY(program.kernel("rotate")),
                             .join_rotated = KEDGE_TRY(program.kernel("join_rotated")),
                             .few_rows = KEDGE_TRY(make_few_rows_kernels(plugin))};
}

bool can_join_linears(const device::JoinedLinearStep& step) {
  const at::Tensor& first = step.biases.front();
  const bool biases_agree = std::ranges::all_of(
      step.biases, [&](const at::Tensor& bias) { return bias.defined() == first.defined(); });
  return step.x.scalar_type() == at::kBFloat16 && step.x.numel() > 0 && biases_agree &&
         (step.packed.empty() || step.packed.size() == step.weights.size()) &&
         std::ranges::all_of(step.packed, can_unpack) && can_multiply_bytes(step) &&
         std::ranges::all_of(step.weights,
                             [](const at::Tensor& weight) {
                               return weight.dim() == 2 && weight.is_floating_point();
                             }) &&
         can_rotate(step);
}

std::vector<at::Tensor> joined_linear(JoinedLinearKernels& kernels,
                                      const device::JoinedLinearStep& step) {
  auto joint = c10::make_intrusive<Joint>();
  joint->kernels = &kernels;
  joint->packed = step.packed;
  joint->bytes = step.bytes;
  joint->rotation = step.rotation;
  joint->has_bias = step.biases.front().defined();
  std::vector<at::Tensor> all(step.weights);
  if (joint->has_bias) {
    all.insert(all.end(), step.biases.begin(), step.biases.end());
  }
  std::vector<at::Tensor> ups;
  std::int64_t column = 0;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < step.weights.size(); ++i) {
    const std::int64_t width = step.weights[i].size(0);
    joint->widths.push_back(width);
    if (i < step.adapters.size() && step.adapters[i].a.defined()) {
      const device::Adapter& adapter = step.adapters[i];
      const std::int64_t rank = adapter.a.size(0);
      joint->lows.push_back(
          {.column = column, .width = width, .begin = begin, .rank = rank, .scale = adapter.scale});
      begin += rank;
      all.push_back(adapter.a);
      ups.push_back(adapter.b);
    }
    column += width;
  }
  all.insert(all.end(), ups.begin(), ups.end());
  return JoinedLinearFunction::apply(step.x, at::TensorList(all), joint);
}

}  // namespace kedge::kernels
