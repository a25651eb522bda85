#include <torch/torch.h>

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

 protected:
  void update(UpdateLists& lists, double lr) override {
    const std::vector<at::Tensor> none;
    // PyTorch starts the buffer with the first gradient; from zeros, without dampening, that is
    // what the ordinary update gives, so no first step needs to be remembered.
    at::_fused_sgd_(lists.parameters, lists.gradients, lists.state.empty() ? none : lists.state[0],
                    lists.weight_decay, config_.momentum, lr, /*dampening=*/0, config_.nesterov,
                    /*maximize=*/false, /*is_first_step=*/false);
  }

 private:
  config::OptimizerConfig config_;
};

const Optimizers::Add kAdd({
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
});

}  // namespace
}  // namespace kedge::train
