// Each token from those before it: perplexity.
#include <cmath>

#include <fmt/format.h>
#include <torch/types.h>

#include "nn/pretrained.h"
#include "train/task.h"

namespace kedge::train {
namespace {

class TokenMeters : public Meters {
 public:
  using Meters::Meters;

 private:
  void read_own(const Means& means, const std::string& prefix, Metrics& metrics) const override {
    metrics[prefix + "perplexity"] = std::exp(means.loss);
  }
};

class LanguageModelling : public Task {
 public:
  bool fits(const data::DatasetInfo& info) const override {
    return data::find_field(info.fields, data::kTokens) != nullptr &&
           data::find_field(info.fields, data::kLabel) == nullptr;
  }

  Result<nn::Signature> find_signature(const config::Config& config, const data::Dataset& dataset,
                                       const data::Pipeline& /*pipeline*/) const override {
    if (config.train.mixup > 0) {
      return fail(ErrorKind::Usage, "train.mixup mixes images, but the data are tokens",
                  "leave train.mixup out");
    }
    const data::DatasetInfo& info = dataset.info();
    const nn::Signature signature{
        .context = data::find_field(info.fields, data::kTokens)->shape.front() - 1,
        .vocab = KEDGE_TRY(nn::find_vocab(config.model)).value_or(info.vocab)};
    if (signature.vocab < info.vocab) {
      return fail(ErrorKind::Usage,
                  fmt::format("model.vocab is {}, but the data has tokens up to {}",
                              signature.vocab, info.vocab - 1));
    }
    return signature;
  }

  // A window holds one token more than the model sees: the last one's target.
  Inputs make_inputs(const InputMaker& maker) const override {
    const at::Tensor window_NT = maker.staged(data::kTokens).to(at::kLong);
    const std::int64_t context = window_NT.size(1) - 1;
    return {.x = window_NT.slice(1, 0, context),
            .y = window_NT.slice(1, 1, context + 1),
            .documents = maker.staged(data::kDocuments)};
  }

  bool needs_scores() const override { return false; }

  std::string_view item_name() const override { return "tokens"; }

  std::int64_t count_items(const data::Batch& batch) const override {
    return batch.count * (batch.find(data::kTokens)->shape.front() - 1);
  }

  std::unique_ptr<Meters> make_meters(const nn::Signature& /*signature*/,
                                      const MeterOptions& options) const override {
    return std::make_unique<TokenMeters>(options.context);
  }
};

const Tasks::Add kAddLanguageModelling(
    {"language_modelling", "each token from those before it: perplexity",
     []() -> Result<std::unique_ptr<Task>> { return std::make_unique<LanguageModelling>(); }});

}  // namespace
}  // namespace kedge::train
