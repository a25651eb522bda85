#include "train/internal/class_meters.h"

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

namespace kedge::train {
namespace {

constexpr std::int64_t kTop = 5;

class ClassMeters : public Meters {
 public:
  // 0 classes: scores are judged by no one label.
  ClassMeters(const device::ContextPtr& context, std::int64_t classes, bool with_confusion)
      : Meters(context), fused_(context->fused), classes_(classes) {
    if (with_confusion) {
      confusion_ = torch::zeros({classes * classes},
                                torch::TensorOptions(torch::kInt64).device(context->device));
    }
  }

  void reset() override {
    Meters::reset();
    if (confusion_.defined()) {
      confusion_.zero_();
    }
  }

  std::vector<std::vector<std::int64_t>> read_confusion(dist::ProcessGroup& group) override {
    std::vector<std::vector<std::int64_t>> rows;
    if (confusion_.defined()) {
      group.all_reduce_sum(confusion_);
      const at::Tensor counts = confusion_.cpu();
      const auto* value = counts.data_ptr<std::int64_t>();
      for (std::int64_t row = 0; row < classes_; ++row) {
        rows.emplace_back(value + row * classes_, value + (row + 1) * classes_);
      }
    }
    return rows;
  }

 private:
  bool add_fused(const at::Tensor& loss, const at::Tensor& scores, const at::Tensor& labels,
                 at::Tensor& sums) override {
    return fused_ != nullptr && classes_ > 0 && !confusion_.defined() &&
           fused_->count_hits({.scores = scores, .labels = labels, .loss = loss}, sums);
  }

  void add_own(const at::Tensor& scores, const at::Tensor& labels, const at::Tensor& own) override {
    if (classes_ == 0) {
      return;
    }
    const at::Tensor predicted = scores.argmax(1);
    own[0].add_(predicted.eq(labels).sum());
    if (classes_ > kTop) {
      own[1].add_(std::get<1>(scores.topk(kTop, 1)).eq(labels.unsqueeze(1)).sum());
    }
    if (confusion_.defined()) {
      // Not bincount: it makes the host wait for the device.
      const at::Tensor cell = labels * classes_ + predicted;
      confusion_.index_add_(0, cell, torch::ones_like(cell));
    }
  }

  void read_own(const Means& means, const std::string& prefix, Metrics& metrics) const override {
    if (classes_ > 0) {
      metrics[prefix + "accuracy"] = means.own[0];
    }
    if (classes_ > kTop) {
      metrics[prefix + "top5"] = means.own[1];
    }
  }

  device::FusedOps* fused_;
  std::int64_t classes_;
  at::Tensor confusion_;  // int64 [classes * classes]
};

}  // namespace

Result<std::int64_t> count_classes(std::int64_t wanted, const data::DatasetInfo& info) {
  const auto in_data = static_cast<std::int64_t>(info.class_names.size());
  if (wanted > 0 && wanted < in_data) {
    return fail(ErrorKind::Usage,
                fmt::format("model.classes is {}, but the data has {} classes", wanted, in_data),
                "leave model.classes out to take the data's, or choose some with data.classes");
  }
  return wanted > 0 ? wanted : in_data;
}

std::unique_ptr<Meters> make_class_meters(const nn::Signature& signature,
                                          const MeterOptions& options) {
  return std::make_unique<ClassMeters>(
      options.context, options.has_mixed_targets ? 0 : signature.classes, options.with_confusion);
}

}  // namespace kedge::train
