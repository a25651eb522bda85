#include <torch/types.h>

#include "nn/fused.h"
#include "nn/internal/targets.h"
#include "nn/loss.h"

namespace kedge::nn {
namespace {

class CrossEntropy : public Loss {
 public:
  explicit CrossEntropy(const config::LossConfig& config)
      : label_smoothing_(config.label_smoothing) {}

  at::Tensor operator()(const at::Tensor& scores, const at::Tensor& targets) const override {
    const Rows rows = as_rows(scores, targets);
    if (fused_ops() != nullptr && rows.targets.dim() == 1) {
      at::Tensor loss = fused_ops()->cross_entropy(
          {.scores = rows.scores, .targets = rows.targets, .label_smoothing = label_smoothing_});
      if (loss.defined()) {
        return loss;
      }
    }
    return torch::cross_entropy_loss(rows.scores, rows.targets, {}, at::Reduction::Mean,
                                     kIgnoredTarget, label_smoothing_);
  }

 private:
  double label_smoothing_;
};

const Losses::Add kAddCrossEntropy(
    {"cross_entropy",
     "softmax cross-entropy on raw scores; loss.label_smoothing; class numbers "
     "or soft targets",
     [](const config::LossConfig& config) -> Result<std::unique_ptr<Loss>> {
       return std::make_unique<CrossEntropy>(config);
     }});

}  // namespace
}  // namespace kedge::nn
