#include <torch/types.h>

#include "train/optimizers/foreach_optimizer.h"

namespace kedge::train {
namespace {

// PyTorch does not trust its fused Adagrad on CUDA (adagrad.py refuses it), so this is foreach.
class Adagrad : public ForeachOptimizer {
 public:
  Adagrad(const config::OptimizerConfig& config, const ParameterGroups& groups)
      : ForeachOptimizer(groups, {.names = {"sum"}}), eps_(config.eps) {}

 protected:
  void update(UpdateLists& lists, const Rate& rate) override {
    if (lists.weight_decay != 0) {
      lists.gradients = at::_foreach_add(lists.gradients, lists.parameters, lists.weight_decay);
    }
    at::_foreach_addcmul_(lists.state[0], lists.gradients, lists.gradients);
    const std::vector<at::Tensor> root = at::_foreach_sqrt(lists.state[0]);
    at::_foreach_add_(root, eps_);
    descend_by_ratio(lists, root, rate);
  }

 private:
  double eps_;
};

const Optimizers::Add kAddAdagrad({
    .name = "adagrad",
    .summary = "gradients over the root of the sum of all their squares, with L2 decay",
    .make = [](const config::OptimizerConfig& config, const ParameterGroups& groups)
        -> Result<std::unique_ptr<Optimizer>> { return std::make_unique<Adagrad>(config, groups); },
    .reads = {"eps"},
});

}  // namespace
}  // namespace kedge::train
