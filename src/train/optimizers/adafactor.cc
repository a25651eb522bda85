#include <algorithm>
#include <cmath>
#include <limits>

#include <torch/types.h>

#include "train/optimizers/foreach_optimizer.h"

namespace kedge::train {
namespace {

// The constants of torch.optim.Adafactor, whose defaults the paper gives.
constexpr double kBeta2Decay = -0.8;
constexpr double kParameterScaleMin = 1e-3;
constexpr double kUpdateRmsMax = 1.0;

double epsilon(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return std::numeric_limits<double>::epsilon();
    case at::kBFloat16:
      return 0x1.0p-7;
    case at::kHalf:
      return 0x1.0p-10;
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

// Tensors of two or more dimensions keep means over their rows and columns (the last two
// dimensions), others the whole second moment.
at::Tensor make_state(const std::string& name, const at::Tensor& parameter) {
  if (parameter.dim() < 2) {
    return name == "variance" ? at::zeros_like(parameter) : at::Tensor();
  }
  if (name == "variance") {
    return {};
  }
  std::vector<std::int64_t> shape = parameter.sizes().vec();
  (name == "row_var" ? shape[shape.size() - 1] : shape[shape.size() - 2]) = 1;
  return at::zeros(shape, parameter.options());
}

// In lists of one kind: factored or not.
ParameterGroups split_by_kind(const ParameterGroups& groups) {
  ParameterGroups split;
  for (const ParameterGroup& group : groups) {
    ParameterGroup factored{.parameters = {}, .weight_decay = group.weight_decay};
    ParameterGroup whole = factored;
    for (const auto& named : group.parameters) {
      (named.second.dim() < 2 ? whole : factored).parameters.push_back(named);
    }
    split.push_back(std::move(factored));
    split.push_back(std::move(whole));
  }
  return split;
}

// The mean of squares along `dim` of each gradient.
std::vector<at::Tensor> mean_squares(const std::vector<at::Tensor>& gradients, std::int64_t dim) {
  std::vector<at::Tensor> means;
  std::vector<at::Scalar> sizes;
  for (const at::Tensor& gradient : gradients) {
    means.push_back(at::linalg_vector_norm(gradient, 2, dim, /*keepdim=*/true));
    sizes.emplace_back(gradient.size(dim));
  }
  at::_foreach_mul_(means, means);
  at::_foreach_div_(means, sizes);
  return means;
}

// The root mean square of each tensor over `unit`, as zero-dimensional floats.
std::vector<at::Tensor> rms(const std::vector<at::Tensor>& tensors, double unit) {
  std::vector<at::Tensor> values = at::_foreach_norm(tensors, 2, at::kFloat);
  std::vector<at::Scalar> roots;
  for (const at::Tensor& tensor : tensors) {
    roots.emplace_back(unit * std::sqrt(static_cast<double>(tensor.numel())));
  }
  at::_foreach_div_(values, roots);
  return values;
}

class Adafactor : public ForeachOptimizer {
 public:
  explicit Adafactor(const ParameterGroups& groups)
      : ForeachOptimizer(split_by_kind(groups), {.names = {"row_var", "col_var", "variance"},
                                                 .step_count = StepCount::Host,
                                                 .make = make_state}) {}

  // Its rates depend on the host's count of steps.
  bool can_capture() const override { return false; }

 protected:
  void update(UpdateLists& lists, const Rate& rate) override {
    const double lr = rate.value;
    std::vector<at::Scalar> fresh_weights;
    std::vector<at::Scalar> rates;
    for (const at::Tensor& step : lists.steps) {
      const double count = *step.const_data_ptr<float>();
      fresh_weights.emplace_back(std::pow(count, kBeta2Decay));
      rates.emplace_back(-std::min(lr, 1 / std::sqrt(count)));
    }
    // Steps are relative to the size of the parameter before its decay.
    const std::vector<at::Tensor> scales = rms(lists.parameters, 1);
    at::_foreach_clamp_min_(scales, kParameterScaleMin);
    at::_foreach_mul_(scales, rates);
    if (lists.weight_decay != 0) {
      at::_foreach_mul_(lists.parameters, 1 - lr * lists.weight_decay);
    }
    const double eps = epsilon(lists.parameters.front().scalar_type());
    const std::vector<at::Tensor> updates = estimate_variance(lists, fresh_weights, eps);
    at::_foreach_clamp_min_(updates, eps * eps);
    at::_foreach_rsqrt_(updates);
    at::_foreach_mul_(updates, lists.gradients);

    const std::vector<at::Tensor> excess = rms(updates, kUpdateRmsMax);
    at::_foreach_clamp_min_(excess, 1);
    at::_foreach_div_(scales, excess);
    // PyTorch reads `scales` back to the host here; multiplying on the device needs no wait.
    at::_foreach_mul_(updates, scales);
    at::_foreach_add_(lists.parameters, updates);
  }

 private:
  // Brings the second moments up to date and returns their estimate for every element.
  static std::vector<at::Tensor> estimate_variance(UpdateLists& lists,
                                                   const std::vector<at::Scalar>& fresh_weights,
                                                   double eps) {
    if (lists.parameters.front().dim() < 2) {
      const std::vector<at::Tensor>& variance = lists.state[2];
      at::_foreach_lerp_(variance, at::_foreach_mul(lists.gradients, lists.gradients),
                         fresh_weights);
      std::vector<at::Tensor> copies;
      for (const at::Tensor& tensor : variance) {
        copies.push_back(tensor.clone());
      }
      return copies;
    }
    const std::vector<at::Tensor>& row_var = lists.state[0];
    const std::vector<at::Tensor>& col_var = lists.state[1];
    at::_foreach_lerp_(row_var, mean_squares(lists.gradients, -1), fresh_weights);
    at::_foreach_lerp_(col_var, mean_squares(lists.gradients, -2), fresh_weights);
    std::vector<at::Tensor> estimates;
    std::vector<at::Tensor> row_means;
    for (std::size_t i = 0; i < row_var.size(); ++i) {
      estimates.push_back(at::matmul(row_var[i], col_var[i]));
      row_means.push_back(row_var[i].mean(-2, /*keepdim=*/true));
    }
    at::_foreach_clamp_min_(row_means, eps);
    at::_foreach_div_(estimates, row_means);
    return estimates;
  }
};

const Optimizers::Add kAddAdafactor({
    .name = "adafactor",
    .summary = "Adam's second moment in rows and columns, little memory, decoupled decay "
               "(constants as torch.optim.Adafactor's)",
    .make = [](const config::OptimizerConfig& /*config*/, const ParameterGroups& groups)
        -> Result<std::unique_ptr<Optimizer>> { return std::make_unique<Adafactor>(groups); },
});

}  // namespace
}  // namespace kedge::train
