#include <torch/types.h>

#include "train/optimizers/foreach_optimizer.h"

namespace kedge::train {
namespace {

// Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms", algorithm 2.
class Lion : public ForeachOptimizer {
 public:
  Lion(const config::OptimizerConfig& config, const ParameterGroups& groups)
      : ForeachOptimizer(groups, {.names = {"exp_avg"}}), config_(config) {}

 protected:
  void update(UpdateLists& lists, const Rate& rate) override {
    const std::vector<at::Tensor>& exp_avg = lists.state[0];
    const std::vector<at::Tensor> direction =
        at::_foreach_lerp(exp_avg, lists.gradients, 1 - config_.beta1);
    at::_foreach_sign_(direction);
    decay(lists, rate);
    descend(lists.parameters, direction, rate);
    at::_foreach_lerp_(exp_avg, lists.gradients, 1 - config_.beta2);
  }

 private:
  config::OptimizerConfig config_;
};

const Optimizers::Add kAddLion({
    .name = "lion",
    .summary = "the sign of an interpolated momentum, decoupled decay (the authors advise "
               "beta2=0.99 and a rate 3 to 10 times below AdamW's)",
    .make = [](const config::OptimizerConfig& config, const ParameterGroups& groups)
        -> Result<std::unique_ptr<Optimizer>> { return std::make_unique<Lion>(config, groups); },
    .reads = {"beta1", "beta2"},
});

}  // namespace
}  // namespace kedge::train
