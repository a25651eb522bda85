#include "nn/internal/linear_cross_entropy.h"

#include <algorithm>

#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "nn/internal/head_types.h"

namespace kedge::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kRowUnit = 256;

// What is the same for all stretches.
struct Judging {
  EntropyOptions options;
  at::Tensor inverse_count;  // 1 / targets that count
  bool wants_gradient = false;
};

// The sum of the rows' losses; where it is wanted, `scores` become the gradient of the mean.
at::Tensor judge_plainly(const Judging& judging, at::Tensor& scores, const at::Tensor& targets) {
  const double smoothing = judging.options.smoothing;
  const double z = judging.options.z_loss;
  const at::Tensor counts = targets.ge(0);
  const at::Tensor known = targets.clamp_min(0).unsqueeze(1);
  const at::Tensor wide = scores.to(wide_type(scores.scalar_type()));
  const at::Tensor log_sum = wide.logsumexp(1);
  const at::Tensor own = wide.gather(1, known).squeeze(1);
  at::Tensor losses = log_sum - own * (1 - smoothing) + log_sum.square() * z;
  if (smoothing > 0) {
    losses = losses - wide.mean(1) * smoothing;
  }
  if (judging.wants_gradient) {
    at::Tensor gradient = (wide - log_sum.unsqueeze(1)).exp_();
    gradient.mul_((log_sum * (2 * z) + 1).unsqueeze(1));
    gradient.sub_(smoothing / static_cast<double>(scores.size(1)));
    gradient.scatter_add_(1, known, torch::full(known.sizes(), smoothing - 1, gradient.options()));
    const at::Tensor factor = torch::where(counts, judging.inverse_count, 0.0);
    scores = gradient.mul_(factor.unsqueeze(1)).to(scores.scalar_type());
  }
  return torch::where(counts, losses, 0.0).sum();
}

at::Tensor judge(const Judging& judging, at::Tensor& scores, const at::Tensor& targets) {
  if (judging.options.fused != nullptr) {
    const at::Tensor losses =
        judging.options.fused->judge_rows({.scores = scores,
                                           .targets = targets,
                                           .label_smoothing = judging.options.smoothing,
                                           .z_loss = judging.options.z_loss},
                                          judging.inverse_count, judging.wants_gradient);
    if (losses.defined()) {
      return losses.sum();
    }
  }
  return judge_plainly(judging, scores, targets);
}

// sum += gradient^T rows, in float32 where the operands are of fewer bits.
void add_weight_gradient(at::Tensor& sum, const at::Tensor& gradient, const at::Tensor& rows) {
  if (sum.scalar_type() == gradient.scalar_type()) {
    sum.addmm_(gradient.t(), rows);
  } else if (sum.is_cuda()) {
    at::addmm_out(sum, sum, gradient.t(), rows, sum.scalar_type());
  } else {
    sum.add_(gradient.t().mm(rows));
  }
}

class LinearCrossEntropy : public torch::autograd::Function<LinearCrossEntropy> {
 public:
  // The gradients are computed at once, with the scores, and only scaled in the backward pass.
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& features,
                            const at::Tensor& weight, const at::Tensor& targets,
                            const EntropyOptions& options, bool wants_gradient) {
    const at::ScalarType type = score_type(features);
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const at::Tensor rows = features.reshape({-1, features.size(-1)}).to(type);
    const at::Tensor used = weight.to(type);
    const auto wide = features.options().dtype(wide_type(type));
    const Judging judging{.options = options,
                          .inverse_count = torch::ones({}, wide) / targets.ge(0).sum(),
                          .wants_gradient = wants_gradient};
    const bool trains_weight = wants_gradient && weight.requires_grad();
    at::Tensor loss = torch::zeros({}, wide);
    at::Tensor drows = wants_gradient ? torch::empty_like(rows) : at::Tensor();
    at::Tensor dweight = trains_weight ? torch::zeros(weight.sizes(), wide) : at::Tensor();
    const std::int64_t step =
        std::max(kRowUnit, options.scores_at_once / weight.size(0) / kRowUnit * kRowUnit);
    for (std::int64_t begin = 0; begin < rows.size(0); begin += step) {
      const std::int64_t count = std::min(step, rows.size(0) - begin);
      const at::Tensor some = rows.narrow(0, begin, count);
      at::Tensor scores = some.mm(used.t());
      loss.add_(judge(judging, scores, targets.narrow(0, begin, count)));
      if (wants_gradient) {
        at::Tensor into = drows.narrow(0, begin, count);
        at::mm_out(into, scores, used);
      }
      if (trains_weight) {
        add_weight_gradient(dweight, scores, some);
      }
    }
    ctx->saved_data["sizes"] = features.sizes().vec();
    ctx->saved_data["types"] =
        std::vector<std::int64_t>{static_cast<std::int64_t>(features.scalar_type()),
                                  static_cast<std::int64_t>(weight.scalar_type())};
    ctx->saved_data["drows"] = drows;
    ctx->saved_data["dweight"] = dweight;
    return loss * judging.inverse_count;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const std::vector<std::int64_t> types = ctx->saved_data["types"].toIntVector();
    const auto scaled = [&](const char* name, std::int64_t type) {
      const at::IValue& kept = ctx->saved_data[name];
      at::Tensor gradient = kept.isTensor() ? kept.toTensor() : at::Tensor();
      if (!gradient.defined()) {
        return gradient;
      }
      at::Tensor out = torch::empty(gradient.sizes(),
                                    gradient.options().dtype(static_cast<at::ScalarType>(type)));
      return at::mul_out(out, gradient, gradients[0].to(gradient.scalar_type()));
    };
    const at::Tensor drows = scaled("drows", types[0]);
    return {drows.view(ctx->saved_data["sizes"].toIntVector()),
            scaled("dweight", types[1]),
            {},
            {},
            {}};
  }
};

}  // namespace

bool pays_in_stretches(const Head& head, const device::Context& context) {
  return context.precision != config::Precision::Fp16 &&
         head.features.numel() / head.features.size(-1) * head.weight.size(0) > kScoresAtOnce;
}

at::Tensor linear_cross_entropy(const Head& head, const at::Tensor& targets,
                                const EntropyOptions& options) {
  // Kept gradients are of one backward pass: without one there are none to compute.
  const bool wants_gradient = torch::GradMode::is_enabled() &&
                              (head.features.requires_grad() || head.weight.requires_grad());
  return LinearCrossEntropy::apply(head.features, head.weight, targets.reshape({-1}), options,
                                   wants_gradient);
}

}  // namespace kedge::nn
