#include <torch/types.h>

#include "nn/loss.h"

namespace kedge::nn {
namespace {

// Rafailov et al. 2023; with label smoothing, a part of the pairs is taken to be the wrong way
// round (Mitchell 2023). Scores are [N, 2]: how much more likely the model finds the preferred and
// the other answer than it did before, as logarithms. There are no targets.
class Dpo : public Loss {
 public:
  explicit Dpo(const config::LossConfig& config)
      : beta_(config.beta), smoothing_(config.label_smoothing) {}

  at::Tensor operator()(const at::Tensor& scores, const at::Tensor& /*targets*/) const override {
    const at::Tensor margins = (scores.select(1, 0) - scores.select(1, 1)) * beta_;
    at::Tensor losses = at::log_sigmoid(margins) * (smoothing_ - 1);
    if (smoothing_ > 0) {
      losses = losses - at::log_sigmoid(-margins) * smoothing_;
    }
    return losses.mean();
  }

 private:
  double beta_;
  double smoothing_;
};

const Losses::Add kAddDpo(
    {"dpo",
     "direct preference optimization on pairs of answers "
     "(data.name=preference); loss.beta, loss.label_smoothing",
     [](const config::LossConfig& config, const device::ContextPtr& /*context*/)
         -> Result<std::unique_ptr<Loss>> { return std::make_unique<Dpo>(config); },
     {"beta", "label_smoothing"}});

}  // namespace
}  // namespace kedge::nn
