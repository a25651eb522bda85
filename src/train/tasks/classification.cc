// Images to one class each: accuracy, top-5, a confusion matrix, a table of predictions.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "train/internal/class_meters.h"
#include "train/task.h"

namespace kedge::train {
namespace {

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
    return nn::Signature{.height = sample.image.height,
                         .width = sample.image.width,
                         .channels = sample.image.channels,
                         .classes = KEDGE_TRY(count_classes(config.model.classes, dataset.info()))};
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
    return make_class_meters(signature, options);
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
