#include "use/evaluate.h"

#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/log.h"
#include "device/device.h"
#include "device/plugin.h"
#include "nn/loss.h"
#include "nn/pretrained.h"
#include "train/evaluator.h"
#include "train/reference.h"
#include "train/saved_model.h"
#include "train/torch_guard.h"
#include "use/internal/class_report.h"
#include "use/perplexity.h"

namespace kedge::use {
namespace {

nlohmann::json report_json(const train::SavedModel& saved, const train::Evaluation& evaluation,
                           std::int64_t samples) {
  nlohmann::json report = {{"checkpoint", saved.path.string()},
                           {"epoch", saved.state.value("epoch", 0)},
                           {"samples", samples},
                           {"metrics", evaluation.metrics},
                           {"skipped", evaluation.skipped}};
  if (!evaluation.confusion.empty()) {
    report["classes"] = nlohmann::json::array();
    for (const ClassScore& score :
         score_classes(evaluation.confusion, saved.preparation.class_names)) {
      report["classes"].push_back({{"name", score.name},
                                   {"precision", score.precision},
                                   {"recall", score.recall},
                                   {"f1", score.f1},
                                   {"count", score.count}});
    }
    report["confusion"] = evaluation.confusion;
  }
  return report;
}

void print_report(const train::SavedModel& saved, const train::Evaluation& evaluation,
                  std::int64_t samples) {
  fmt::print("checkpoint {} (epoch {}), {} samples\n", saved.path.string(),
             saved.state.value("epoch", 0), samples);
  for (const auto& [name, value] : evaluation.metrics) {
    fmt::print("{:<14} {:.4f}\n", name, value);
  }
  if (evaluation.skipped > 0) {
    fmt::print("{:<14} {}\n", "skipped", evaluation.skipped);
  }
  if (!evaluation.confusion.empty()) {
    const auto& names = saved.preparation.class_names;
    fmt::print("\n{}\n{}", render_class_scores(score_classes(evaluation.confusion, names)),
               render_confusion(evaluation.confusion, names));
  }
}

// Labels are positions in the list of classes, so that must be the one of the training.
Result<void> check_classes(const std::vector<std::string>& found,
                           const std::vector<std::string>& trained) {
  if (found == trained) {
    return {};
  }
  return fail(
      ErrorKind::Usage,
      fmt::format("the data has the classes [{}], but the model was trained on [{}]",
                  fmt::join(found, ", "), fmt::join(trained, ", ")),
      fmt::format("data.classes=[{}] chooses them, in this order", fmt::join(trained, ", ")));
}

Result<void> evaluate(const EvaluateOptions& options) {
  const train::SavedModel saved =
      KEDGE_TRY(train::load_saved_model(options.model, options.overrides));
  const Measured measured = KEDGE_TRY(measure_model(*saved.model, saved, options.on_train_split));
  if (options.as_json) {
    fmt::print("{}\n", report_json(saved, measured.evaluation, measured.samples).dump(2));
  } else {
    print_report(saved, measured.evaluation, measured.samples);
  }
  return {};
}

}  // namespace

Result<Measured> measure_model(nn::Model& model, const train::SavedModel& saved,
                               bool on_train_split) {
  const config::Config& config = *saved.config;
  train::apply_compute_settings(config);
  const auto context =
      std::make_shared<const device::Context>(KEDGE_TRY(device::make_context(config.train)));
  const at::Device device = context->device;
  model.to(device);

  data::TrainVal parts = KEDGE_TRY(data::open_data(config));
  std::unique_ptr<data::Dataset>& dataset = on_train_split ? parts.train : parts.val;
  if (dataset == nullptr || dataset->size() == 0) {
    return fail(ErrorKind::Usage, "there is no validation split to evaluate on",
                "use --train for the training split, or set data.path, data.val_ratio");
  }
  KEDGE_TRY(check_classes(dataset->info().class_names, saved.preparation.class_names));
  const auto group = dist::make_single_process_group();
  if (train::needs_reference(*dataset)) {
    const bool has_adapters = config.model.lora.is_on();
    const auto first = has_adapters
                           ? nullptr
                           : KEDGE_TRY(train::make_first_model(config, saved.preparation, context));
    dataset = KEDGE_TRY(train::with_reference(
        std::move(dataset),
        {config, saved.preparation, has_adapters ? model : *first, context, *group}));
  }
  const data::Pipeline pipeline = KEDGE_TRY(data::Pipeline::parse(saved.preparation.eval_steps));
  const std::int64_t batch_size =
      config.loader.eval_batch_size > 0 ? config.loader.eval_batch_size : config.loader.batch_size;
  data::Loader loader(*dataset, pipeline,
                      {.batch_size = batch_size,
                       .workers = train::loader_workers(config.loader.workers, device),
                       .prefetch = config.loader.prefetch,
                       .skip_bad = config.data.on_error == config::OnError::Skip,
                       .allocate = train::batch_allocator(device, true)});
  train::InputMaker make_inputs(saved.preparation, {.device = device});
  const auto loss = KEDGE_TRY(nn::Losses::make("loss", config.loss.name, config.loss, context));
  train::Evaluator evaluator(
      loader, make_inputs, *loss, saved.preparation,
      {.context = context, .with_confusion = true, .beta = config.loss.beta});
  return Measured{KEDGE_TRY(evaluator.run(model, on_train_split ? "train/" : "val/", *group)),
                  static_cast<std::int64_t>(dataset->size())};
}

namespace {

// What others trained has no data of its own.
Result<void> evaluate_pretrained(const EvaluateOptions& options) {
  const auto config = KEDGE_TRY(config::load_config({.overrides = options.overrides}));
  if (config->data.path.empty() || options.on_train_split) {
    return fail(ErrorKind::Usage,
                fmt::format("{} was trained elsewhere and has no data to measure it on",
                            options.model.string()),
                "name a text with --text FILE or data.path=FILE, or questions with --choices FILE");
  }
  return run_perplexity({.model = {.model = options.model, .overrides = options.overrides},
                         .text = config->data.path,
                         .as_json = options.as_json});
}

}  // namespace

Result<void> run_evaluate(const EvaluateOptions& options) {
  if (nn::is_pretrained(options.model)) {
    return evaluate_pretrained(options);
  }
  device::open();
  return train::catch_torch([&] { return evaluate(options); });
}

}  // namespace kedge::use
