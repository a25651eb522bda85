// Texts to one class each: accuracy, top-5, a confusion matrix.
#include <fmt/format.h>
#include <torch/types.h>

#include "nn/pretrained.h"
#include "train/internal/class_meters.h"
#include "train/task.h"

namespace kedge::train {
namespace {

class TextClassification : public Task {
 public:
  bool fits(const data::DatasetInfo& info) const override {
    return data::find_field(info.fields, data::kTokens) != nullptr &&
           data::find_field(info.fields, data::kLabel) != nullptr;
  }

  Result<nn::Signature> find_signature(const config::Config& config, const data::Dataset& dataset,
                                       const data::Pipeline& /*pipeline*/) const override {
    if (config.train.mixup > 0) {
      return fail(ErrorKind::Usage, "train.mixup mixes images, but the data are texts",
                  "leave train.mixup out");
    }
    const data::DatasetInfo& info = dataset.info();
    const nn::Signature signature{
        .classes = KEDGE_TRY(count_classes(config.model.classes, info)),
        .context = data::find_field(info.fields, data::kTokens)->shape.front(),
        .vocab = KEDGE_TRY(nn::find_vocab(config.model)).value_or(info.vocab)};
    if (signature.vocab < info.vocab) {
      return fail(ErrorKind::Usage,
                  fmt::format("the model has {} tokens, but the data's tokenizer has {}",
                              signature.vocab, info.vocab),
                  "data.tokenizer must be the model's own");
    }
    return signature;
  }

  Inputs make_inputs(const InputMaker& maker) const override {
    return {.x = maker.staged(data::kTokens).to(at::kLong),
            .y = maker.staged(data::kLabel),
            .documents = maker.staged(data::kDocuments)};
  }

  std::unique_ptr<Meters> make_meters(const nn::Signature& signature,
                                      const MeterOptions& options) const override {
    return make_class_meters(signature, options);
  }

  std::string_view best_metric() const override { return "val/accuracy"; }
};

const Tasks::Add kAddTextClassification(
    {"text_classification", "texts to one class each: accuracy, top-5, confusion matrix",
     []() -> Result<std::unique_ptr<Task>> { return std::make_unique<TextClassification>(); }});

}  // namespace
}  // namespace kedge::train
