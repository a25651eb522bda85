#include "train/setup.h"

#include <filesystem>

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "core/log.h"
#include "nn/weights.h"
#include "train/device.h"
#include "train/precision.h"
#include "train/saved_model.h"

namespace kedge::train {
namespace {

Result<void> check_batch_size(const config::Config& config, const data::Dataset& train) {
  const std::int64_t batch = config.loader.batch_size;
  if (train.size() == 0) {
    return fail(ErrorKind::Usage, "there is nothing to train on: the training set is empty",
                "lower data.val_ratio or data.val_count, or raise data.sample_ratio");
  }
  if (batch > train.size() && config.loader.drop_last) {
    return fail(ErrorKind::Usage,
                fmt::format("loader.batch_size is {}, but the training set has {} samples, and "
                            "loader.drop_last leaves nothing",
                            batch, train.size()),
                "lower loader.batch_size, or set loader.drop_last=false");
  }
  if (batch > train.size()) {
    warn("loader.batch_size {} is larger than the training set: one batch of {} per epoch", batch,
         train.size());
  }
  return {};
}

Result<std::unique_ptr<nn::Model>> make_trained_model(const config::Config& config,
                                                      const Setup& setup) {
  torch::manual_seed(static_cast<std::uint64_t>(config.seed));
  auto model = KEDGE_TRY(nn::make_model(config.model, setup.preparation.task));
  config::ModelConfig start = config.model;
  if (!start.weights.empty() && std::filesystem::is_directory(start.weights)) {
    start.weights = weights_of(KEDGE_TRY(find_checkpoint(start.weights))).string();
  }
  const auto report = KEDGE_TRY(nn::apply_weights(*model, start));
  if (!config.model.weights.empty()) {
    say("weights: {} tensors from {}{}", report.loaded, start.weights,
        report.new_head.empty() ? "" : fmt::format("; the head {} is new", model->head()));
  }
  model->to(setup.device);
  if (setup.precision == config::Precision::Bf16Pure) {
    model->to(at::kBFloat16);
  }
  if (config.train.channels_last && !setup.preparation.task.is_language()) {
    use_channels_last(*model);
  }
  return model;
}

data::LoaderOptions loader_options(const config::Config& config, const Setup& setup) {
  return {.batch_size = config.loader.batch_size,
          .workers = loader_workers(config.loader.workers, setup.device),
          .prefetch = config.loader.prefetch,
          .shuffle = config.loader.shuffle,
          .drop_last = config.loader.drop_last,
          .skip_bad = config.data.on_error == config::OnError::Skip,
          .seed = static_cast<std::uint64_t>(config.seed),
          .rank = setup.group->rank(),
          .ranks = setup.group->size(),
          .allocate = batch_allocator(setup.device, config.loader.pin_memory.value_or(true))};
}

void make_loaders(const config::Config& config, Setup& setup) {
  data::LoaderOptions options = loader_options(config, setup);
  setup.train_loader =
      std::make_unique<data::Loader>(*setup.data.train, setup.train_pipeline, options);
  if (setup.data.val != nullptr && setup.data.val->size() > 0) {
    options.shuffle = false;
    options.drop_last = false;
    if (config.loader.eval_batch_size > 0) {
      options.batch_size = config.loader.eval_batch_size;
    }
    setup.val_loader =
        std::make_unique<data::Loader>(*setup.data.val, setup.eval_pipeline, options);
  }
}

}  // namespace

Result<std::unique_ptr<Setup>> make_setup(const config::Config& config) {
  auto setup = std::make_unique<Setup>();
  apply_compute_settings(config);
  setup->group = dist::make_single_process_group();
  setup->device = KEDGE_TRY(choose_device(config.train.device));
  setup->precision = resolve_precision(config.train.precision, setup->device);
  setup->train_pipeline = KEDGE_TRY(data::Pipeline::parse(config.transform.train));
  setup->eval_pipeline = KEDGE_TRY(data::Pipeline::parse(config.transform.eval));
  setup->loss = KEDGE_TRY(nn::Losses::make("loss", config.loss.name, config.loss));
  setup->data = KEDGE_TRY(data::open_data(config.data));
  KEDGE_TRY(check_batch_size(config, *setup->data.train));
  setup->preparation = KEDGE_TRY(prepare(config, *setup->data.train, setup->eval_pipeline));
  setup->model = KEDGE_TRY(make_trained_model(config, *setup));
  setup->optimizer = KEDGE_TRY(make_optimizer(*setup->model, config.optimizer));
  setup->make_inputs = std::make_unique<InputMaker>(
      setup->preparation.normalise,
      InputMaker::Options{
          .device = setup->device,
          .type = setup->precision == config::Precision::Bf16Pure ? at::kBFloat16 : at::kFloat,
          .channels_last = config.train.channels_last});
  make_loaders(config, *setup);
  KEDGE_TRY(check_metric_names(config, setup->preparation, setup->val_loader != nullptr));
  return setup;
}

}  // namespace kedge::train
