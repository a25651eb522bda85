#include "train/reference.h"

#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "data/loader.h"
#include "device/precision.h"
#include "nn/lora.h"
#include "nn/weights.h"
#include "train/inputs.h"
#include "train/internal/first_weights.h"
#include "train/task.h"

namespace kedge::train {
namespace {

// Pairs with what was found of them: two numbers each.
class PairsWithReference : public data::Dataset {
 public:
  PairsWithReference(std::unique_ptr<data::Dataset> pairs, std::vector<float> found)
      : pairs_(std::move(pairs)), found_(std::move(found)), info_(pairs_->info()) {
    info_.fields.push_back(
        {.name = std::string(data::kPairReference), .type = data::FieldType::F32, .shape = {2}});
  }

  const data::DatasetInfo& info() const override { return info_; }

  std::int64_t size() const override { return pairs_->size(); }

  std::int64_t label(std::int64_t index) const override { return pairs_->label(index); }

  std::string name(std::int64_t index) const override { return pairs_->name(index); }

  Result<void> read(std::int64_t index, data::Sample& sample) const override {
    KEDGE_TRY(pairs_->read(index, sample));
    const auto row = sample.row<float>(info_.fields.size() - 1, 2);
    std::memcpy(row.data(), found_.data() + 2 * index, row.size_bytes());
    return {};
  }

  std::string digest() const override { return pairs_->digest(); }

  std::int64_t index_at(const data::OrderKey& key, std::int64_t position) const override {
    return pairs_->index_at(key, position);
  }

 private:
  std::unique_ptr<data::Dataset> pairs_;
  std::vector<float> found_;
  data::DatasetInfo info_;
};

// [size, 2]: this rank's part of it, zeros elsewhere.
Result<at::Tensor> find_own(const data::Dataset& pairs, const ReferenceParts& parts) {
  const config::Config& config = parts.config;
  const auto pipeline = KEDGE_TRY(data::Pipeline::parse({}));
  const std::int64_t wanted =
      config.loader.eval_batch_size > 0 ? config.loader.eval_batch_size : config.loader.batch_size;
  data::Loader loader(pairs, pipeline,
                      {.batch_size = std::max<std::int64_t>(1, wanted / parts.group.size()),
                       .rank = parts.group.rank(),
                       .ranks = parts.group.size()});
  InputMaker make_inputs(parts.preparation, {.device = parts.context->device});
  const at::Tensor found = torch::zeros({pairs.size(), 2}, torch::kFloat32);
  loader.start_epoch(0);
  while (auto batch = KEDGE_TRY(loader.next())) {
    if (batch->count == 0) {
      continue;
    }
    const device::Autocast autocast(*parts.context);
    const Inputs inputs = make_inputs(*batch);
    const at::Tensor answers =
        parts.preparation.task->judge(parts.model.forward_to_head(inputs.input()), inputs);
    found.index_copy_(0, torch::tensor(batch->indices), answers.to(at::kCPU, at::kFloat));
  }
  return found;
}

}  // namespace

bool needs_reference(const data::Dataset& dataset) {
  return data::find_field(dataset.info().fields, data::kPairTokens) != nullptr;
}

Result<std::unique_ptr<data::Dataset>> with_reference(std::unique_ptr<data::Dataset> pairs,
                                                      const ReferenceParts& parts) {
  if (!parts.model.ends_in_linear()) {
    return fail(
        ErrorKind::Usage, "loss.name=dpo needs a language model whose last layer is linear",
        "choose a model of `kedge list models`, a folder of Hugging Face's or a .gguf file");
  }
  const torch::NoGradGuard no_grad;
  parts.model.set_training(false);
  Result<at::Tensor> found = at::Tensor();
  nn::without_adapters(parts.model, [&] {
    found = find_own(*pairs, parts);
    return at::Tensor();
  });
  at::Tensor all = KEDGE_TRY(std::move(found));
  if (!parts.group.is_alone()) {
    at::Tensor sums = all.to(parts.context->device);
    parts.group.all_reduce_sum(sums);
    all = sums.cpu();
  }
  const auto* first = all.const_data_ptr<float>();
  return std::make_unique<PairsWithReference>(std::move(pairs),
                                              std::vector<float>(first, first + all.numel()));
}

Result<std::unique_ptr<nn::Model>> make_first_model(const config::Config& config,
                                                    const Preparation& preparation,
                                                    const device::ContextPtr& context) {
  torch::manual_seed(static_cast<std::uint64_t>(config.seed));
  auto model = KEDGE_TRY(nn::make_model(config.model, preparation.signature, {.context = context}));
  KEDGE_TRY(nn::apply_weights(*model, KEDGE_TRY(find_first_weights(config, /*is_first=*/false))));
  model->to(context->device);
  return model;
}

}  // namespace kedge::train
