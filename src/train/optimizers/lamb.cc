#include <cmath>

#include <torch/types.h>

#include "train/optimizers/foreach_optimizer.h"

namespace kedge::train {
namespace {

// 1 - beta^step, without the digits that the difference would cost a float.
std::vector<at::Tensor> bias_corrections(const UpdateLists& lists, double beta) {
  std::vector<at::Tensor> corrections = at::_foreach_mul(lists.steps, std::log(beta));
  at::_foreach_expm1_(corrections);
  at::_foreach_neg_(corrections);
  return corrections;
}

// You et al. 2020, "Large Batch Optimization for Deep Learning", algorithm 2.
class Lamb : public ForeachOptimizer {
 public:
  Lamb(const config::OptimizerConfig& config, const ParameterGroups& groups)
      : ForeachOptimizer(groups,
                         {.names = {"exp_avg", "exp_avg_sq"}, .step_count = StepCount::Device}),
        config_(config) {}

 protected:
  void update(UpdateLists& lists, const Rate& rate) override {
    const std::vector<at::Tensor>& mean = lists.state[0];
    const std::vector<at::Tensor>& square = lists.state[1];
    at::_foreach_lerp_(mean, lists.gradients, 1 - config_.beta1);
    at::_foreach_mul_(square, config_.beta2);
    at::_foreach_addcmul_(square, lists.gradients, lists.gradients, 1 - config_.beta2);
    std::vector<at::Tensor> root = at::_foreach_div(square, bias_corrections(lists, config_.beta2));
    at::_foreach_sqrt_(root);
    at::_foreach_add_(root, config_.eps);
    std::vector<at::Tensor> updates =
        at::_foreach_div(mean, bias_corrections(lists, config_.beta1));
    at::_foreach_div_(updates, root);
    if (lists.weight_decay != 0) {
      at::_foreach_add_(updates, lists.parameters, lists.weight_decay);
    }
    at::_foreach_mul_(updates, trust(lists.parameters, updates));
    descend(lists.parameters, updates, rate);
  }

 private:
  // The norm of each parameter by that of its update; 1 where one of them is nothing.
  static std::vector<at::Tensor> trust(const std::vector<at::Tensor>& parameters,
                                       const std::vector<at::Tensor>& updates) {
    std::vector<at::Tensor> ratios = at::_foreach_norm(parameters);
    at::_foreach_div_(ratios, at::_foreach_norm(updates));
    for (at::Tensor& ratio : ratios) {
      ratio = at::where(ratio.isfinite().logical_and(ratio > 0), ratio, 1.0);
    }
    return ratios;
  }

  config::OptimizerConfig config_;
};

const Optimizers::Add kAddLamb({
    .name = "lamb",
    .summary = "Adam's update brought to the norm of each parameter, for very large batches "
               "(You et al. 2020)",
    .make = [](const config::OptimizerConfig& config,
               const ParameterGroups& groups) -> Result<std::unique_ptr<Optimizer>> {
      KEDGE_TRY(check_below_one(config.beta1, "beta1"));
      KEDGE_TRY(check_below_one(config.beta2, "beta2"));
      return std::make_unique<Lamb>(config, groups);
    },
    .reads = {"beta1", "beta2", "eps"},
});

}  // namespace
}  // namespace kedge::train
