#include "train/run_training.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/version.h>

#include "config/render.h"
#include "core/log.h"
#include "core/units.h"
#include "nn/weights.h"
#include "train/device.h"
#include "train/precision.h"
#include "train/saved_model.h"
#include "train/torch_guard.h"
#include "train/trainer.h"

namespace kedge::train {
namespace {

// Everything of one training, made in the order in which each part needs the ones before.
struct Setup {
  at::Device device{at::kCPU};
  config::Precision precision = config::Precision::Fp32;
  data::TrainVal data;
  data::Pipeline train_pipeline;
  data::Pipeline eval_pipeline;
  Preparation preparation;
  std::unique_ptr<nn::Model> model;
  std::unique_ptr<nn::Loss> loss;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<data::Loader> train_loader;
  std::unique_ptr<data::Loader> val_loader;
  std::unique_ptr<InputMaker> make_inputs;
  std::unique_ptr<dist::ProcessGroup> group;
};

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

Horizon horizon_of(const config::Config& config, const data::Loader& loader) {
  const std::int64_t per_epoch =
      (loader.batches_per_epoch() + config.train.accumulate - 1) / config.train.accumulate;
  Horizon horizon{.steps = per_epoch * config.train.epochs, .epochs = config.train.epochs};
  if (config.train.max_steps > 0) {
    horizon.steps = std::min(horizon.steps, config.train.max_steps);
  }
  return horizon;
}

track::RunStart run_start(const config::LoadedConfig& config, const Setup& setup, int argc,
                          const char* const* argv) {
  nlohmann::json environment = track::collect_environment(argc, argv);
  environment["device"] = device_facts(setup.device);
  environment["libtorch"] = TORCH_VERSION;
  const config::RunConfig& run = config->run;
  return {.dir = config->track.dir,
          .project = run.project,
          .name = run.name,
          .id = run.id,
          .tags = run.tags,
          .notes = run.notes,
          .group = run.group,
          .job_type = run.job_type,
          .config_file_text = config.file_text,
          .effective_config_text = config::render_effective(config),
          .config_hash = config.hash(),
          .data_digest = setup.data.digest,
          .environment = std::move(environment),
          .csv = config->track.csv};
}

void say_facts(Reporter& reporter, const config::Config& config, const Setup& setup,
               const track::Run& run) {
  const std::int64_t val_size = setup.val_loader ? setup.data.val->size() : 0;
  std::int64_t trainable = 0;
  for (const auto& [name, tensor] : setup.model->parameters()) {
    trainable += tensor.requires_grad() ? tensor.numel() : 0;
  }
  const std::int64_t all = nn::count_parameters(*setup.model);
  reporter.say(fmt::format("run      {} ({})", run.name(), run.path().string()));
  reporter.say(
      fmt::format("device   {}, {}", describe_device(setup.device), name_of(setup.precision)));
  reporter.say(fmt::format("data     {}: {} training, {} validation samples", config.data.name,
                           render_grouped(static_cast<std::uint64_t>(setup.data.train->size())),
                           render_grouped(static_cast<std::uint64_t>(val_size))));
  reporter.say(fmt::format(
      "model    {}: {} parameters{}",
      config.model.file.empty() ? config.model.name : config.model.file,
      render_grouped(static_cast<std::uint64_t>(all)),
      trainable == all
          ? ""
          : fmt::format(", {} trained", render_grouped(static_cast<std::uint64_t>(trainable)))));
}

nlohmann::json summary_json(const TrainSummary& summary, std::uint64_t peak_bytes) {
  nlohmann::json json = {{"epochs", summary.epochs},
                         {"steps", summary.steps},
                         {"seconds", summary.seconds},
                         {"samples_per_s", summary.samples_per_s},
                         {"epoch_seconds_mean", summary.epoch_seconds_mean},
                         {"peak_memory_bytes", peak_bytes},
                         {"skipped_samples", summary.skipped},
                         {"stopped_early", summary.is_stopped_early},
                         {"last", summary.last}};
  if (summary.best_value) {
    json["best"] = {{"metric", summary.best_metric},
                    {"value", *summary.best_value},
                    {"epoch", summary.best_epoch}};
  }
  return json;
}

void say_summary(Reporter& reporter, const TrainSummary& summary, std::uint64_t peak_bytes,
                 const track::Run& run) {
  reporter.say(
      fmt::format("done     {} epochs, {} steps in {}; {} samples/s, {} per epoch, {} peak "
                  "memory",
                  summary.epochs, summary.steps, render_seconds({summary.seconds}),
                  render_count(summary.samples_per_s), render_seconds({summary.epoch_seconds_mean}),
                  render_bytes({peak_bytes})));
  if (summary.skipped > 0) {
    reporter.say(
        fmt::format("skipped  {} samples an epoch: they could not be decoded", summary.skipped));
  }
  if (summary.best_value) {
    reporter.say(fmt::format("best     {} {:.4f} (epoch {})", summary.best_metric,
                             *summary.best_value, summary.best_epoch));
  }
  reporter.say(fmt::format("next     kedge eval {}", run.path().string()));
}

Result<void> train_in_run(const config::LoadedConfig& config, Setup& setup, track::Run& run) {
  const auto reporter = KEDGE_TRY(Reporter::make(run, config->track.log_file));
  LearningRate learning_rate = KEDGE_TRY(LearningRate::make(
      config->schedule, config->optimizer.lr, horizon_of(*config, *setup.train_loader)));
  std::optional<Evaluator> evaluator;
  if (setup.val_loader) {
    evaluator.emplace(*setup.val_loader, *setup.make_inputs, *setup.loss, setup.preparation,
                      Evaluator::Options{.device = setup.device,
                                         .autocast = autocast_type(setup.precision),
                                         .with_confusion = config->track.confusion,
                                         .prediction_count = config->track.predictions});
  }
  for (const std::string& note : config.notes) {
    reporter->say(note);
  }
  say_facts(*reporter, *config, setup, run);
  Trainer trainer({.config = config,
                   .preparation = setup.preparation,
                   .device = setup.device,
                   .precision = setup.precision,
                   .model = *setup.model,
                   .loss = *setup.loss,
                   .optimizer = *setup.optimizer,
                   .learning_rate = learning_rate,
                   .train_loader = *setup.train_loader,
                   .make_inputs = *setup.make_inputs,
                   .evaluator = evaluator ? &*evaluator : nullptr,
                   .val = setup.data.val.get(),
                   .group = *setup.group,
                   .run = run,
                   .reporter = *reporter});
  const TrainSummary summary = KEDGE_TRY(trainer.run());
  const std::uint64_t peak_bytes = peak_memory_bytes(setup.device);
  say_summary(*reporter, summary, peak_bytes, run);
  run.finish(track::RunState::Finished, summary_json(summary, peak_bytes));
  return {};
}

}  // namespace

Result<void> run_training(const config::LoadedConfig& config, int argc, const char* const* argv) {
  open_cuda();
  std::unique_ptr<track::Run> run;
  const auto attempt = [&]() -> Result<void> {
    const auto setup = KEDGE_TRY(make_setup(*config));
    run = KEDGE_TRY(track::Run::create(run_start(config, *setup, argc, argv)));
    return train_in_run(config, *setup, *run);
  };
  Result<void> result = catch_torch(attempt);
  if (!result && run != nullptr) {
    run->finish(track::RunState::Failed, {{"error", result.error().message}});
  }
  return result;
}

}  // namespace kedge::train
