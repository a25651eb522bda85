#include <torch/types.h>

#include "nn/internal/targets.h"
#include "nn/loss.h"

namespace kedge::nn {
namespace {

// PyTorch's NLLLoss for networks that end in log_softmax. The scores are normalised once more:
// that changes no log-probability, and it keeps a network with raw scores from "improving" without
// bound, which NLLLoss alone would let it do.
class Nll : public Loss {
 public:
  at::Tensor operator()(const at::Tensor& scores, const at::Tensor& targets) const override {
    const Rows rows = as_rows(scores, targets);
    const at::Tensor log_probabilities = torch::log_softmax(rows.scores, 1);
    if (rows.targets.is_floating_point()) {
      return -(rows.targets * log_probabilities).sum(1).mean();
    }
    return torch::nll_loss(log_probabilities, rows.targets, {}, at::Reduction::Mean,
                           kIgnoredTarget);
  }
};

const Losses::Add kAddNll(
    {"nll",
     "negative log-likelihood for networks that end in log_softmax (mnistnet); "
     "equals cross_entropy without smoothing",
     [](const config::LossConfig& /*config*/, const device::ContextPtr& /*context*/)
         -> Result<std::unique_ptr<Loss>> { return std::make_unique<Nll>(); }});

}  // namespace
}  // namespace kedge::nn
