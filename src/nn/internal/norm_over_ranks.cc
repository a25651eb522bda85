#include "nn/internal/norm_over_ranks.h"

#include <cstdint>
#include <vector>

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>

namespace kedge::nn {
namespace {

using device::SumOverRanks;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// [C] -> [1, C, 1, 1]
at::Tensor over_channels(const at::Tensor& values) {
  return values.view({1, -1, 1, 1});
}

const std::vector<std::int64_t> kAllButChannels = {0, 2, 3};

// Sums of half precision would lose what they sum.
at::Tensor widened(const at::Tensor& x) {
  return x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16 ? x.to(at::kFloat) : x;
}

// Without y. In two passes, because the difference of large sums would lose the variance.
NormedOverRanks moments_over_ranks(const SumOverRanks& sum, const at::Tensor& x_NCHW) {
  const std::int64_t channels = x_NCHW.size(1);
  const auto own = static_cast<double>(x_NCHW.numel() / channels);
  at::Tensor sums =
      torch::cat({x_NCHW.sum(kAllButChannels), torch::full({1}, own, x_NCHW.options())});
  sum(sums);
  const at::Tensor count = sums.slice(0, channels);
  at::Tensor mean = sums.slice(0, 0, channels) / count;
  at::Tensor squares = (x_NCHW - over_channels(mean)).square().sum(kAllButChannels);
  sum(squares);
  return {.y = {}, .mean = mean, .variance = squares / count, .count = count};
}

class NormOverRanks : public torch::autograd::Function<NormOverRanks> {
 public:
  static variable_list forward(AutogradContext* context, const SumOverRanks* sum,
                               const at::Tensor& input, const at::Tensor& weight,
                               const at::Tensor& bias, double eps) {
    const at::Tensor x = widened(input);
    const NormedOverRanks moments = moments_over_ranks(*sum, x);
    const at::Tensor inverse = (moments.variance + eps).rsqrt();
    const at::Tensor normal = (x - over_channels(moments.mean)) * over_channels(inverse);
    at::Tensor y = normal;
    if (weight.defined()) {
      y = normal * over_channels(weight) + over_channels(bias);
    }
    context->save_for_backward({normal, inverse, moments.count, weight});
    context->saved_data["sum"] = reinterpret_cast<std::int64_t>(sum);
    return {y.to(input.scalar_type()), moments.mean, moments.variance, moments.count};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& normal = saved[0];
    const at::Tensor& inverse = saved[1];
    const at::Tensor& weight = saved[3];
    const at::Tensor dy = widened(gradients[0]);
    const std::int64_t channels = inverse.size(0);
    const at::Tensor sum_dy = dy.sum(kAllButChannels);
    const at::Tensor sum_dy_normal = (dy * normal).sum(kAllButChannels);
    at::Tensor sums = torch::cat({sum_dy, sum_dy_normal});
    const auto& sum = *reinterpret_cast<const SumOverRanks*>(context->saved_data["sum"].toInt());
    sum(sums);
    const at::Tensor means = sums / saved[2];
    at::Tensor dx = dy - over_channels(means.slice(0, 0, channels)) -
                    normal * over_channels(means.slice(0, channels));
    dx = dx * over_channels(weight.defined() ? inverse * weight : inverse);
    // The weights' own gradients stay this rank's: they are summed with all others.
    return {at::Tensor(), dx.to(gradients[0].scalar_type()),
            weight.defined() ? sum_dy_normal.to(weight.scalar_type()) : at::Tensor(),
            weight.defined() ? sum_dy.to(weight.scalar_type()) : at::Tensor(), at::Tensor()};
  }
};

}  // namespace

NormedOverRanks norm_over_ranks(const SumOverRanks& sum, const at::Tensor& x,
                                const at::Tensor& weight, const at::Tensor& bias, double eps) {
  const variable_list results = NormOverRanks::apply(&sum, x, weight, bias, eps);
  return {.y = results[0], .mean = results[1], .variance = results[2], .count = results[3]};
}

}  // namespace kedge::nn
