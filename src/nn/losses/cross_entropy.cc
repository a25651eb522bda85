#include <utility>

#include <torch/types.h>

#include "nn/internal/targets.h"
#include "nn/loss.h"

namespace kedge::nn {
namespace {

class CrossEntropy : public Loss {
 public:
  CrossEntropy(const config::LossConfig& config, device::ContextPtr context)
      : label_smoothing_(config.label_smoothing), context_(std::move(context)) {}

  at::Tensor operator()(const at::Tensor& scores, const at::Tensor& targets) const override {
    const Rows rows = as_rows(scores, targets);
    if (context_->fused != nullptr && rows.targets.dim() == 1) {
      at::Tensor loss = context_->fused->cross_entropy(
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
  device::ContextPtr context_;
};

const Losses::Add kAddCrossEntropy(
    {"cross_entropy",
     "softmax cross-entropy on raw scores; loss.label_smoothing; class numbers "
     "or soft targets",
     [](const config::LossConfig& config,
        const device::ContextPtr& context) -> Result<std::unique_ptr<Loss>> {
       return std::make_unique<CrossEntropy>(config, context);
     },
     {"label_smoothing"}});

}  // namespace
}  // namespace kedge::nn
