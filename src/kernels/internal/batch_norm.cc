#include "kernels/internal/batch_norm.h"

#include <algorithm>
#include <cstdint>

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "kernels/internal/batch_norm_source.h"
#include "kernels/internal/cuda_source.h"
#include "kernels/internal/kernel_cache.h"
#include "kernels/internal/sum_source.h"

namespace kedge::kernels {
namespace {

// About two and one for each multiprocessor of a large GPU; more leave more partial sums to add.
constexpr std::int64_t kStatisticsBlocks = 264;
constexpr std::int64_t kNormGradientBlocks = 132;
constexpr unsigned kElementwiseThreads = 256;
constexpr std::int64_t kRowsOfBlock = 128;  // of the kernels that sum nothing
constexpr std::int64_t kMostChannelTiles = 256;
constexpr int kNone = static_cast<int>(device::Activation::None);

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What both directions need, on the device: one allocation for all of it.
struct Workspace {
  at::Tensor floats;  // mean, inverse deviation, scale, shift: [4, C]

  float* row(std::int64_t index) const { return floats.data_ptr<float>() + index * floats.size(1); }
};

// A step's sizes: rows are pixels, or fields of four when it pools.
struct Shape {
  std::int64_t rows = 0;
  std::int64_t channels = 0;
  int width = 0;  // of the image, where fields are found
  bool is_pooled = false;

  explicit Shape(const at::Tensor& x, bool pool)
      : rows(x.size(0) * x.size(2) * x.size(3)),
        channels(x.size(1)),
        width(static_cast<int>(x.size(3))),
        is_pooled(pool) {}

  device::Grid sum_grid(std::int64_t blocks) const {
    const std::int64_t tiles = channels / kTile;
    const std::int64_t units = is_pooled ? rows / 4 : rows;
    const std::int64_t per_tile = std::clamp<std::int64_t>(
        blocks / tiles, 1, std::max<std::int64_t>(1, units / (kSumThreads / 8)));
    return {.blocks = static_cast<unsigned>(tiles),
            .blocks_y = static_cast<unsigned>(per_tile),
            .threads = kSumThreads};
  }

  device::Grid elementwise_grid() const {
    const std::int64_t units = is_pooled ? rows / 4 : rows;
    return {.blocks = static_cast<unsigned>(channels / kTile),
            .blocks_y = static_cast<unsigned>((units + kRowsOfBlock - 1) / kRowsOfBlock),
            .threads = kElementwiseThreads};
  }
};

// Room for the blocks' partial sums.
at::Tensor make_partial(const Shape& shape, const device::Grid& grid, at::Device device) {
  return torch::empty({grid.blocks_y, 2, shape.channels},
                      torch::TensorOptions(torch::kFloat).device(device));
}

// Autograd takes no undefined tensors, so what is missing is empty.
bool has(const at::Tensor& tensor) {
  return tensor.numel() > 0;
}

const void* data_or_null(const at::Tensor& tensor) {
  return has(tensor) ? tensor.const_data_ptr() : nullptr;
}

// The step's result by a scale and a shift per channel: [2, C].
at::Tensor apply_affine(NormKernels& kernels, const device::NormStep& step,
                        const at::Tensor& shortcut, const float* affine) {
  const at::Tensor& x = step.x;
  const Shape shape(x, step.pool);
  at::Tensor y = step.pool ? torch::empty({x.size(0), x.size(1), x.size(2) / 2, x.size(3) / 2},
                                          x.options(), at::MemoryFormat::ChannelsLast)
                           : torch::empty_like(x);
  (*kernels.kind(shape.is_pooled).apply)(
      shape.elementwise_grid(), x.const_data_ptr(), data_or_null(shortcut), y.mutable_data_ptr(),
      affine, shape.rows, shape.channels, shape.width, static_cast<int>(step.activation));
  return y;
}

class BatchNormFunction : public torch::autograd::Function<BatchNormFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& input_bias,
                            const at::Tensor& weight, const at::Tensor& bias,
                            const at::Tensor& shortcut, NormKernels* kernels,
                            const device::NormStep* step) {
    const Shape shape(x, step->pool);
    const Workspace work{
        torch::empty({4, shape.channels}, torch::TensorOptions(torch::kFloat).device(x.device()))};
    const device::Grid grid = Shape(x, false).sum_grid(kStatisticsBlocks);
    const at::Tensor partial = make_partial(shape, grid, x.device());
    (*kernels->statistics)(grid, x.const_data_ptr(), shape.rows, shape.channels,
                           partial.data_ptr<float>(), kernels->counters.data_ptr<int>(),
                           work.row(0), weight.const_data_ptr(), bias.const_data_ptr(),
                           data_or_null(input_bias), step->running_mean.mutable_data_ptr(),
                           step->running_var.mutable_data_ptr(), step->batches.mutable_data_ptr(),
                           static_cast<float>(step->momentum), static_cast<float>(step->eps));
    at::Tensor y = apply_affine(*kernels, *step, shortcut, work.row(2));
    const int activation = static_cast<int>(step->activation);
    // With a shortcut only the result tells where ReLU let through.
    ctx->save_for_backward({x, weight, work.floats, has(shortcut) && activation != kNone ? y : x});
    ctx->saved_data["kernels"] = reinterpret_cast<std::int64_t>(kernels);
    ctx->saved_data["activation"] = static_cast<std::int64_t>(activation);
    ctx->saved_data["pool"] = step->pool;
    ctx->saved_data["shortcut"] = has(shortcut);
    ctx->saved_data["input_bias"] = has(input_bias);
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    auto* kernels = reinterpret_cast<NormKernels*>(ctx->saved_data["kernels"].toInt());
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor& x = saved[0];
    const Workspace work{saved[2]};
    const bool has_shortcut = ctx->saved_data["shortcut"].toBool();
    const int activation = static_cast<int>(ctx->saved_data["activation"].toInt());
    const Shape shape(x, ctx->saved_data["pool"].toBool());
    const at::Tensor dy = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
    const void* gate = has_shortcut && activation != kNone ? saved[3].const_data_ptr() : nullptr;

    const auto floats = torch::TensorOptions(torch::kFloat).device(x.device());
    const at::Tensor weight_gradient = torch::empty({shape.channels}, floats);
    const at::Tensor bias_gradient = torch::empty({shape.channels}, floats);
    const at::Tensor factors = torch::empty({3, shape.channels}, floats);
    const device::Grid grid = shape.sum_grid(kNormGradientBlocks);
    const at::Tensor partial = make_partial(shape, grid, x.device());
    (*kernels->kind(shape.is_pooled).gradient_sums)(
        grid, x.const_data_ptr(), dy.const_data_ptr(), gate, shape.rows, shape.channels,
        shape.width, activation, partial.data_ptr<float>(), kernels->counters.data_ptr<int>(),
        static_cast<const float*>(work.row(0)), saved[1].const_data_ptr(),
        weight_gradient.data_ptr<float>(), bias_gradient.data_ptr<float>(),
        factors.data_ptr<float>());
    const at::Tensor dx = torch::empty_like(x);
    // Without an activation the shortcut's gradient is dy itself.
    const bool writes_shortcut = has_shortcut && activation != kNone;
    const at::Tensor shortcut_gradient = writes_shortcut ? torch::empty_like(x) : at::Tensor();
    (*kernels->kind(shape.is_pooled).gradient)(
        shape.elementwise_grid(), x.const_data_ptr(), dy.const_data_ptr(), gate,
        dx.mutable_data_ptr(),
        writes_shortcut ? shortcut_gradient.mutable_data_ptr() : static_cast<void*>(nullptr),
        static_cast<const float*>(work.row(2)), factors.const_data_ptr(), shape.rows,
        shape.channels, shape.width, activation);
    // Exactly zero: the mean takes any constant away.
    const at::Tensor input_bias_gradient = ctx->saved_data["input_bias"].toBool()
                                               ? torch::zeros({shape.channels}, floats)
                                               : at::Tensor();
    return {dx,
            input_bias_gradient,
            weight_gradient,
            bias_gradient,
            has_shortcut && !writes_shortcut ? dy : shortcut_gradient,
            {},
            {}};
  }
};

bool is_fit(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kBFloat16 && tensor.dim() == 4 &&
         tensor.is_contiguous(at::MemoryFormat::ChannelsLast);
}

bool is_float(const at::Tensor& tensor) {
  return tensor.defined() && tensor.scalar_type() == at::kFloat && tensor.is_contiguous();
}

}  // namespace

Result<NormKernels> make_norm_kernels(device::Plugin& plugin) {
  const Program program =
      KEDGE_TRY(Program::make(plugin, kCudaPrelude + kSumSource + kBatchNormSource, "batch_norm"));
  const auto kind = [&](const std::string& suffix) -> Result<NormKernels::Kind> {
    return NormKernels::Kind{.apply = KEDGE_TRY(program.kernel("apply" + suffix)),
                             .gradient_sums = KEDGE_TRY(program.kernel("gradient_sums" + suffix)),
                             .gradient = KEDGE_TRY(program.kernel("gradient" + suffix))};
  };
  const auto counters = torch::TensorOptions(torch::kInt).device(plugin.device());
  return NormKernels{.counters = torch::zeros({kMostChannelTiles}, counters),
                     .statistics = KEDGE_TRY(program.kernel("statistics")),
                     .affine_of_running = KEDGE_TRY(program.kernel("affine_of_running")),
                     .plain = KEDGE_TRY(kind("")),
                     .pooled = KEDGE_TRY(kind("_pooled"))};
}

bool can_norm(const device::NormStep& step) {
  const at::Tensor& x = step.x;
  return is_fit(x) && step.activation != device::Activation::GeluTanh && x.size(1) % kTile == 0 &&
         x.size(1) <= kTile * kMostChannelTiles && x.numel() > 0 &&
         (!step.shortcut.defined() ||
          (is_fit(step.shortcut) && !step.pool && step.activation != device::Activation::Gelu)) &&
         (!step.pool || (step.activation == device::Activation::Relu && x.size(2) % 2 == 0 &&
                         x.size(3) % 2 == 0)) &&
         is_float(step.weight) && is_float(step.bias) && is_float(step.running_mean) &&
         is_float(step.running_var) && x.size(0) * x.size(2) * x.size(3) > 1;
}

at::Tensor batch_norm(NormKernels& kernels, const device::NormStep& step) {
  const at::Tensor none = torch::empty({0}, step.x.options());
  const at::Tensor shortcut = step.shortcut.defined() ? step.shortcut : none;
  if (!step.is_training) {
    const std::int64_t channels = step.x.size(1);
    const at::Tensor affine = torch::empty({2, channels}, step.weight.options());
    (*kernels.affine_of_running)(
        {.blocks = static_cast<unsigned>(channels / kTile), .threads = kTile},
        affine.mutable_data_ptr(), step.weight.const_data_ptr(), step.bias.const_data_ptr(),
        step.running_mean.const_data_ptr(), step.running_var.const_data_ptr(), channels,
        static_cast<float>(step.eps));
    return apply_affine(kernels, step, shortcut, affine.const_data_ptr<float>());
  }
  return BatchNormFunction::apply(step.x, step.input_bias.defined() ? step.input_bias : none,
                                  step.weight, step.bias, shortcut, &kernels, &step);
}

}  // namespace kedge::kernels
