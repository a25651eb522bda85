#include <torch/types.h>

#include "nn/internal/targets.h"
#include "nn/loss.h"

namespace kedge::nn {
namespace {

class Mse : public Loss {
 public:
  at::Tensor operator()(const at::Tensor& scores, const at::Tensor& targets) const override {
    const Rows rows = as_rows(scores, targets);
    if (rows.targets.is_floating_point()) {
      return torch::mse_loss(rows.scores, rows.targets.to(rows.scores.scalar_type()));
    }
    // scatter, not one_hot: one_hot looks at the largest target, which waits for the device.
    const at::Tensor one_hot =
        torch::zeros_like(rows.scores.detach()).scatter_(1, rows.targets.unsqueeze(1), 1.0);
    return torch::mse_loss(rows.scores, one_hot);
  }
};

const Losses::Add kAddMse(
    {"mse",
     "mean squared error against one-hot classes or soft targets, over all "
     "scores",
     [](const config::LossConfig& /*config*/, const device::ContextPtr& /*context*/)
         -> Result<std::unique_ptr<Loss>> { return std::make_unique<Mse>(); }});

}  // namespace
}  // namespace kedge::nn
