// Of two answers, the preferred one: by how much more likely each has become than it was.
#include <fmt/format.h>
#include <torch/types.h>

#include "nn/log_probs.h"
#include "nn/loss.h"
#include "nn/pretrained.h"
#include "train/task.h"

namespace kedge::train {
namespace {

// Rewards are beta times the logarithm of that.
class PreferenceMeters : public Meters {
 public:
  PreferenceMeters(const device::ContextPtr& context, double beta)
      : Meters(context, 3), beta_(beta) {}

 private:
  void add_own(const at::Tensor& scores, const at::Tensor& /*targets*/,
               const at::Tensor& own) override {
    const at::Tensor chosen = scores.select(1, 0);
    const at::Tensor rejected = scores.select(1, 1);
    own[0].add_(chosen.gt(rejected).sum());
    own[1].add_(chosen.to(at::kDouble).sum(), beta_);
    own[2].add_(rejected.to(at::kDouble).sum(), beta_);
  }

  void read_own(const Means& means, const std::string& prefix, Metrics& metrics) const override {
    metrics[prefix + "accuracy"] = means.own[0];
    metrics[prefix + "reward_chosen"] = means.own[1];
    metrics[prefix + "reward_rejected"] = means.own[2];
    metrics[prefix + "reward_margin"] = means.own[1] - means.own[2];
  }

  double beta_;
};

class Preference : public Task {
 public:
  bool fits(const data::DatasetInfo& info) const override {
    return data::find_field(info.fields, data::kPairTokens) != nullptr;
  }

  Result<nn::Signature> find_signature(const config::Config& config, const data::Dataset& dataset,
                                       const data::Pipeline& /*pipeline*/) const override {
    const data::DatasetInfo& info = dataset.info();
    const nn::Signature signature{
        .context = data::find_field(info.fields, data::kPairTokens)->shape.back() - 1,
        .vocab = KEDGE_TRY(nn::find_vocab(config.model)).value_or(info.vocab)};
    if (signature.vocab < info.vocab) {
      return fail(ErrorKind::Usage,
                  fmt::format("model.vocab is {}, but the data has tokens up to {}",
                              signature.vocab, info.vocab - 1));
    }
    return signature;
  }

  // The two texts of a pair are two rows; padding is at the end, where no token looks.
  Inputs make_inputs(const InputMaker& maker) const override {
    const at::Tensor pairs = maker.staged(data::kPairTokens).to(at::kLong);
    const at::Tensor window_NT = pairs.flatten(0, 1);
    const std::int64_t context = window_NT.size(1) - 1;
    const at::Tensor is_out = maker.staged(data::kPairMask).flatten(0, 1).eq(0);
    return {.x = window_NT.slice(1, 0, context),
            .y = window_NT.slice(1, 1, context + 1).masked_fill(is_out, nn::kIgnoredTarget),
            .counted = torch::full({}, static_cast<double>(pairs.size(0)),
                                   torch::TensorOptions(torch::kFloat64).device(pairs.device())),
            .reference = maker.staged(data::kPairReference)};
  }

  bool judges_itself() const override { return true; }

  // [N, 2]: the logarithm of how likely each answer is, less what it was where that is known.
  at::Tensor judge(const nn::Head& head, const Inputs& inputs) const override {
    const at::Tensor answers = nn::log_probs(head, inputs.y).sum(1).view({-1, 2});
    return inputs.reference.defined() ? answers - inputs.reference : answers;
  }

  std::string_view item_name() const override { return "pairs"; }

  std::unique_ptr<Meters> make_meters(const nn::Signature& /*signature*/,
                                      const MeterOptions& options) const override {
    return std::make_unique<PreferenceMeters>(options.context, options.beta);
  }
};

const Tasks::Add kAddPreference(
    {"preference", "of two answers the preferred one: rewards, their margin, accuracy",
     []() -> Result<std::unique_ptr<Task>> { return std::make_unique<Preference>(); }});

}  // namespace
}  // namespace kedge::train
