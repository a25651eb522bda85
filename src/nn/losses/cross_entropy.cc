#include <utility>

#include <torch/types.h>

#include "nn/internal/linear_cross_entropy.h"
#include "nn/internal/targets.h"
#include "nn/loss.h"

namespace kedge::nn {
namespace {

class CrossEntropy : public Loss {
 public:
  CrossEntropy(const config::LossConfig& config, device::ContextPtr context)
      : label_smoothing_(config.label_smoothing),
        z_loss_(config.z_loss),
        context_(std::move(context)) {}

  at::Tensor operator()(const at::Tensor& scores, const at::Tensor& targets) const override {
    const Rows rows = as_rows(scores, targets);
    if (context_->fused != nullptr && rows.targets.dim() == 1) {
      at::Tensor loss = context_->fused->cross_entropy({.scores = rows.scores,
                                                        .targets = rows.targets,
                                                        .label_smoothing = label_smoothing_,
                                                        .z_loss = z_loss_});
      if (loss.defined()) {
        return loss;
      }
    }
    const at::Tensor entropy = torch::cross_entropy_loss(
        rows.scores, rows.targets, {}, at::Reduction::Mean, kIgnoredTarget, label_smoothing_);
    return z_loss_ == 0 ? entropy : entropy + z_part(rows);
  }

  at::Tensor of_head(const Head& head, const at::Tensor& targets) const override {
    if (!pays_in_stretches(head, *context_) || targets.is_floating_point()) {
      return {};
    }
    return linear_cross_entropy(
        head, targets,
        {.smoothing = label_smoothing_, .z_loss = z_loss_, .fused = context_->fused});
  }

 private:
  at::Tensor z_part(const Rows& rows) const {
    const at::Tensor squares = rows.scores.to(at::kFloat).logsumexp(1).square();
    if (rows.targets.is_floating_point()) {
      return squares.mean() * z_loss_;
    }
    const at::Tensor counts = rows.targets.ge(0);
    return torch::where(counts, squares, 0.0).sum() / counts.sum() * z_loss_;
  }

  double label_smoothing_;
  double z_loss_;
  device::ContextPtr context_;
};

const Losses::Add kAddCrossEntropy(
    {"cross_entropy",
     "softmax cross-entropy on raw scores; loss.label_smoothing, loss.z_loss; class numbers "
     "or soft targets",
     [](const config::LossConfig& config,
        const device::ContextPtr& context) -> Result<std::unique_ptr<Loss>> {
       return std::make_unique<CrossEntropy>(config, context);
     },
     {"label_smoothing", "z_loss"}});

}  // namespace
}  // namespace kedge::nn
