#include <torch/types.h>

#include "train/optimizers/foreach_optimizer.h"

namespace kedge::train {
namespace {

class AdamW : public ForeachOptimizer {
 public:
  AdamW(const config::OptimizerConfig& config, const ParameterGroups& groups)
      : ForeachOptimizer(groups,
                         {.names = {"exp_avg", "exp_avg_sq"}, .step_count = StepCount::Device}),
        config_(config) {}

  bool can_skip_on_device() const override { return true; }

 protected:
  void update(UpdateLists& lists, const Rate& rate) override {
    const auto update_by = [&](const auto& lr) {
      at::_fused_adamw_(lists.parameters, lists.gradients, lists.state[0], lists.state[1],
                        /*max_exp_avg_sqs=*/{}, lists.steps, lr, config_.beta1, config_.beta2,
                        lists.weight_decay, config_.eps, /*amsgrad=*/false, /*maximize=*/false,
                        /*grad_scale=*/{}, rate.found_inf);
    };
    if (rate.on_device.defined()) {
      update_by(rate.on_device);
    } else {
      update_by(rate.value);
    }
  }

 private:
  config::OptimizerConfig config_;
};

const Optimizers::Add kAdd({
    .name = "adamw",
    .summary = "Adam with decoupled weight decay (Loshchilov and Hutter 2019)",
    .make = [](const config::OptimizerConfig& config,
               const ParameterGroups& groups) -> Result<std::unique_ptr<Optimizer>> {
      KEDGE_TRY(check_below_one(config.beta1, "beta1"));
      KEDGE_TRY(check_below_one(config.beta2, "beta2"));
      return std::make_unique<AdamW>(config, groups);
    },
});

}  // namespace
}  // namespace kedge::train
