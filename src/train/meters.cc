#include "train/meters.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <torch/types.h>
#include <torch/utils.h>

namespace kedge::train {
namespace {

constexpr std::int64_t kTop = 5;

}  // namespace

Meters::Meters(Options options)
    : options_(std::move(options)),
      sums_(torch::zeros({4},
                         torch::TensorOptions(torch::kFloat64).device(options_.context->device))) {
  if (options_.with_confusion) {
    confusion_ = torch::zeros({options_.classes * options_.classes},
                              torch::TensorOptions(torch::kInt64).device(options_.context->device));
  }
}

void Meters::reset() {
  sums_.zero_();  // in place: a captured step adds to this very tensor
  if (options_.with_confusion) {
    confusion_.zero_();
  }
}

bool Meters::try_fused(const device::ScoredStep& step) {
  device::FusedOps* fused = options_.context->fused;
  return fused != nullptr && options_.classes > 0 && !options_.with_confusion &&
         fused->count_hits(step, sums_);
}

void Meters::add(const at::Tensor& loss, const at::Tensor& scores, const at::Tensor& labels) {
  const torch::NoGradGuard no_grad;
  if (try_fused({.scores = scores, .labels = labels, .loss = loss})) {
    return;
  }
  const auto count = static_cast<double>(labels.numel());
  sums_[0].add_(loss.detach().to(at::kDouble), count);
  sums_[1].add_(count);
  if (options_.classes == 0) {
    return;
  }
  const at::Tensor predicted = scores.argmax(1);
  sums_[2].add_(predicted.eq(labels).sum());
  if (options_.classes > kTop) {
    sums_[3].add_(std::get<1>(scores.topk(kTop, 1)).eq(labels.unsqueeze(1)).sum());
  }
  if (options_.with_confusion) {
    // Not bincount: it makes the host wait for the device.
    const at::Tensor cell = labels * options_.classes + predicted;
    confusion_.index_add_(0, cell, torch::ones_like(cell));
  }
}

Metrics Meters::read(const std::string& prefix, dist::ProcessGroup& group) {
  // A copy: what this rank has counted is still its own, and may be saved as such.
  at::Tensor all = group.is_alone() ? sums_ : sums_.clone();
  group.all_reduce_sum(all);
  if (options_.with_confusion) {
    group.all_reduce_sum(confusion_);
  }
  const at::Tensor sums = all.cpu();
  const auto* value = sums.data_ptr<double>();
  const double count = std::max(value[1], 1.0);
  Metrics metrics;
  metrics[prefix + "loss"] = value[0] / count;
  if (options_.is_language) {
    metrics[prefix + "perplexity"] = std::exp(value[0] / count);
  }
  if (options_.classes > 0) {
    metrics[prefix + "accuracy"] = value[2] / count;
  }
  if (options_.classes > kTop) {
    metrics[prefix + "top5"] = value[3] / count;
  }
  return metrics;
}

void Meters::move_to_first(dist::ProcessGroup& group) {
  group.all_reduce_sum(sums_);
  if (!group.is_first()) {
    sums_.zero_();
  }
}

std::vector<std::vector<std::int64_t>> Meters::read_confusion() const {
  const at::Tensor counts = confusion_.cpu();
  const auto* value = counts.data_ptr<std::int64_t>();
  std::vector<std::vector<std::int64_t>> rows;
  for (std::int64_t row = 0; row < options_.classes; ++row) {
    rows.emplace_back(value + row * options_.classes, value + (row + 1) * options_.classes);
  }
  return rows;
}

}  // namespace kedge::train
