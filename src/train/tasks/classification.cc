// Images to one class each: accuracy, top-5, a confusion matrix, a table of predictions.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "train/task.h"

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

Result<void> read_first(const data::Dataset& dataset, bool may_skip, data::Sample& sample) {
  Result<void> read = dataset.read(0, sample);
  for (std::int64_t i = 1; !read && may_skip && i < dataset.size(); ++i) {
    read = dataset.read(i, sample);
  }
  if (!read && may_skip) {
    return fail(read.error().kind,
                fmt::format("none of the {} training samples can be decoded; the last: {}",
                            dataset.size(), read.error().message));
  }
  return read;
}

class Classification : public Task {
 public:
  bool fits(const data::DatasetInfo& info) const override {
    return data::find_field(info.fields, data::kImage) != nullptr;
  }

  Result<nn::Signature> find_signature(const config::Config& config, const data::Dataset& dataset,
                                       const data::Pipeline& pipeline) const override {
    data::Sample sample;
    KEDGE_TRY(read_first(dataset, config.data.on_error == config::OnError::Skip, sample));
    data::Visit visit{.random = Random(0)};
    pipeline.apply(sample.image, visit);
    const auto in_data = static_cast<std::int64_t>(dataset.info().class_names.size());
    const std::int64_t classes = config.model.classes > 0 ? config.model.classes : in_data;
    if (classes < in_data) {
      return fail(ErrorKind::Usage,
                  fmt::format("model.classes is {}, but the data has {} classes", classes, in_data),
                  "leave model.classes out to take the data's, or choose some with data.classes");
    }
    return nn::Signature{.height = sample.image.height,
                         .width = sample.image.width,
                         .channels = sample.image.channels,
                         .classes = classes};
  }

  Result<Normalise> find_normalise(const config::Config& config, const data::DatasetInfo& info,
                                   const nn::Signature& signature) const override {
    Normalise normalise = config.transform.mean.empty()
                              ? Normalise{info.mean, info.std}
                              : Normalise{config.transform.mean, config.transform.std};
    if (static_cast<std::int64_t>(normalise.mean.size()) != signature.channels) {
      return fail(ErrorKind::Usage,
                  fmt::format("transform.mean has {} values, but the images have {} channels",
                              normalise.mean.size(), signature.channels));
    }
    return normalise;
  }

  Inputs make_inputs(const InputMaker& maker) const override {
    return {.x = maker.images(), .y = maker.staged(data::kLabel)};
  }

  std::unique_ptr<Meters> make_meters(const nn::Signature& signature,
                                      const MeterOptions& options) const override {
    return std::make_unique<ClassMeters>(
        options.context, options.has_mixed_targets ? 0 : signature.classes, options.with_confusion);
  }

  std::string_view best_metric() const override { return "val/accuracy"; }

  std::vector<Prediction> predictions(const InputMaker& maker, const data::Batch& batch,
                                      const at::Tensor& scores, std::int64_t count) const override {
    count = std::min(count, batch.count);
    const at::Tensor probabilities =
        scores.slice(0, 0, count).to(at::kFloat).softmax(1).cpu().contiguous();
    const auto* row = probabilities.data_ptr<float>();
    const auto* labels = batch.find(data::kLabel)->as<std::int64_t>();
    const std::int64_t classes = probabilities.size(1);
    std::vector<Prediction> rows;
    for (std::int64_t i = 0; i < count; ++i) {
      rows.push_back({.index = batch.indices[static_cast<std::size_t>(i)],
                      .label = labels[i],
                      .scores = {row + i * classes, row + (i + 1) * classes},
                      .image = maker.image_of(batch, i)});
    }
    return rows;
  }
};

const Tasks::Add kAddClassification(
    {"classification", "images to one class each: accuracy, top-5, confusion matrix",
     []() -> Result<std::unique_ptr<Task>> { return std::make_unique<Classification>(); }});

}  // namespace
}  // namespace kedge::train
