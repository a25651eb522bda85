#include "train/internal/announce.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/units.h"
#include "device/device.h"
#include "device/precision.h"

namespace kedge::train {

void say_facts(Reporter& reporter, const config::Config& config, const Setup& setup,
               const track::Run& run) {
  const std::int64_t val_size = setup.val_loader ? setup.data.val->size() : 0;
  std::int64_t trainable = 0;
  for (const auto& [name, tensor] : setup.model->parameters()) {
    trainable += tensor.requires_grad() ? tensor.numel() : 0;
  }
  const std::int64_t all = nn::count_parameters(*setup.model);
  reporter.say(fmt::format("run      {} ({})", run.name(), run.path().string()));
  reporter.say(fmt::format("device   {}, {}", device::describe_device(setup.context->device),
                           name_of(setup.context->precision)));
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

void say_step(Reporter& reporter, const Step& step, const Setup& setup) {
  if (!setup.context->device.is_cuda()) {
    return;
  }
  const auto why = step.why_not_captured();
  reporter.say(fmt::format(
      "step     {}, samples {}{}",
      !why           ? "one CUDA graph"
      : why->empty() ? "not captured (train.graph is off)"
                     : "not captured: " + *why,
      setup.train_resident ? "on the device" : "streamed",
      setup.jpeg_decoder.empty() ? "" : ", decoded by " + setup.jpeg_decoder + " from epoch 2 on"));
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

void say_resumption(Reporter& reporter, const Resumption& resumption, const track::Run& run) {
  for (const checkpoint::Bad& bad : resumption.newest.bad) {
    reporter.say(fmt::format("damaged  {}: {}", bad.path.string(), bad.error.message));
  }
  if (resumption.newest.checkpoint) {
    const nlohmann::json& state = resumption.newest.checkpoint->state();
    reporter.say(fmt::format("resume   attempt {} from {}: step {}, epoch {}, batch {}",
                             run.attempt(), resumption.newest.entry.name,
                             resumption.newest.entry.step, resumption.newest.entry.epoch + 1,
                             state.value("batch", std::int64_t{0})));
  } else {
    reporter.say(
        fmt::format("resume   attempt {}, from the beginning: nothing was saved", run.attempt()));
  }
  for (const track::ConfigChange& change : resumption.changes) {
    reporter.say(fmt::format("changed  {}: {} -> {}", change.key, change.before, change.after));
  }
}

}  // namespace kedge::train
