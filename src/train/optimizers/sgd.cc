#include <torch/types.h>

#include "train/optimizers/foreach_optimizer.h"

namespace kedge::train {
namespace {

class Sgd : public ForeachOptimizer {
 public:
  Sgd(const config::OptimizerConfig& config, const ParameterGroups& groups)
      : ForeachOptimizer(groups,
                         {.names = config.momentum > 0 ? std::vector<std::string>{"momentum_buffer"}
                                                       : std::vector<std::string>{}}),
        config_(config) {}

  bool can_skip_on_device() const override { return true; }

 protected:
  void update(UpdateLists& lists, const Rate& rate) override {
    const at::Tensor& first = lists.parameters.front();
    // The fused CPU kernel of torch 2.11 leaves whole vectors of reduced types unchanged
    // (pytorch issue 191763).
    if (first.is_cpu() && at::isReducedFloatingType(first.scalar_type())) {
      update_unfused(lists, rate);
      return;
    }
    const std::vector<at::Tensor> none;
    // PyTorch starts the buffer with the first gradient; from zeros, without dampening, that is
    // what the ordinary update gives, so no first step needs to be remembered.
    const auto update_by = [&](const auto& lr) {
      at::_fused_sgd_(
          lists.parameters, lists.gradients, lists.state.empty() ? none : lists.state[0],
          lists.weight_decay, config_.momentum, lr, /*dampening=*/0, config_.nesterov,
          /*maximize=*/false, /*is_first_step=*/false, /*grad_scale=*/{}, rate.found_inf);
    };
    if (rate.on_device.defined()) {
      update_by(rate.on_device);
    } else {
      update_by(rate.value);
    }
  }

 private:
  void update_unfused(UpdateLists& lists, const Rate& rate) const {
    if (lists.weight_decay != 0) {
      lists.gradients = at::_foreach_add(lists.gradients, lists.parameters, lists.weight_decay);
    }
    if (!lists.state.empty()) {
      const std::vector<at::Tensor>& buffer = lists.state[0];
      at::_foreach_mul_(buffer, config_.momentum);
      at::_foreach_add_(buffer, lists.gradients);
      lists.gradients =
          config_.nesterov ? at::_foreach_add(lists.gradients, buffer, config_.momentum) : buffer;
    }
    descend(lists.parameters, lists.gradients, rate);
  }

  config::OptimizerConfig config_;
};

const Optimizers::Add kAddSgd({
    .name = "sgd",
    .summary = "stochastic gradient descent with momentum, Nesterov momentum and L2 decay",
    .make = [](const config::OptimizerConfig& config,
               const ParameterGroups& groups) -> Result<std::unique_ptr<Optimizer>> {
      if (config.nesterov && config.momentum <= 0) {
        return fail(ErrorKind::Usage, "optimizer.nesterov needs momentum, but it is 0",
                    "set optimizer.momentum=0.9, or optimizer.nesterov=false");
      }
      return std::make_unique<Sgd>(config, groups);
    },
    .reads = {"momentum", "nesterov"},
});

}  // namespace
}  // namespace kedge::train
