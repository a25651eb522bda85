#include <torch/types.h>

#include "train/optimizers/foreach_optimizer.h"

namespace kedge::train {
namespace {

class RmsProp : public ForeachOptimizer {
 public:
  RmsProp(const config::OptimizerConfig& config, const ParameterGroups& groups)
      : ForeachOptimizer(groups,
                         {.names = config.momentum > 0
                                       ? std::vector<std::string>{"square_avg", "momentum_buffer"}
                                       : std::vector<std::string>{"square_avg"}}),
        config_(config) {}

 protected:
  void update(UpdateLists& lists, const Rate& rate) override {
    if (lists.weight_decay != 0) {
      lists.gradients = at::_foreach_add(lists.gradients, lists.parameters, lists.weight_decay);
    }
    const std::vector<at::Tensor>& square_avg = lists.state[0];
    at::_foreach_mul_(square_avg, config_.alpha);
    at::_foreach_addcmul_(square_avg, lists.gradients, lists.gradients, 1 - config_.alpha);
    const std::vector<at::Tensor> root = at::_foreach_sqrt(square_avg);
    at::_foreach_add_(root, config_.eps);
    if (config_.momentum > 0) {
      const std::vector<at::Tensor>& buffer = lists.state[1];
      at::_foreach_mul_(buffer, config_.momentum);
      at::_foreach_addcdiv_(buffer, lists.gradients, root);
      descend(lists.parameters, buffer, rate);
    } else {
      descend_by_ratio(lists, root, rate);
    }
  }

 private:
  config::OptimizerConfig config_;
};

const Optimizers::Add kAddRmsProp({
    .name = "rmsprop",
    .summary = "gradients over the root of their running mean square, with momentum and L2 decay",
    .make = [](const config::OptimizerConfig& config, const ParameterGroups& groups)
        -> Result<std::unique_ptr<Optimizer>> { return std::make_unique<RmsProp>(config, groups); },
    .reads = {"momentum", "alpha", "eps"},
});

}  // namespace
}  // namespace kedge::train
