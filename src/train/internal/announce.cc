#include "train/internal/announce.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/units.h"
#include "data/sample_text.h"
#include "device/device.h"
#include "device/precision.h"
#include "nn/quantized_weight.h"

namespace kedge::train {
namespace {

constexpr std::size_t kSampleLines = 24;
constexpr std::size_t kSampleBytes = 240;  // of a line

// Whole characters.
std::string shorten(std::string_view line) {
  if (line.size() <= kSampleBytes) {
    return std::string(line);
  }
  std::size_t end = kSampleBytes;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return std::string(line.substr(0, end)) + " ...";
}

std::int64_t first_sample(const config::Config& config, const Setup& setup) {
  return setup.data.train->index_at({.seed = static_cast<std::uint64_t>(config.seed),
                                     .epoch = 0,
                                     .shuffle = config.loader.shuffle},
                                    0);
}

// What weights in few bits take, and would take in the type that they are multiplied in.
void say_quantized(Reporter& reporter, const config::Config& config, const Setup& setup) {
  const auto packed = nn::quantized_weights(*setup.model);
  std::uint64_t bytes = 0;
  std::uint64_t unpacked = 0;
  std::uint64_t rest = 0;
  for (const auto& [name, tensor] : setup.model->parameters()) {
    const auto found = packed.find(name);
    (found == packed.end() ? rest : unpacked) += tensor.nbytes();
    bytes += found == packed.end() ? 0 : found->second->size_bytes();
  }
  if (!packed.empty()) {
    reporter.say(fmt::format("weights  {}: {} as {} (unpacked {}), {} as they are",
                             render_bytes({bytes + rest}), render_bytes({bytes}),
                             config::name_of(config.model.quantize), render_bytes({unpacked}),
                             render_bytes({rest})));
  }
}

}  // namespace

Result<std::string> render_first_sample(const config::Config& config, const Setup& setup) {
  return data::render_sample(*setup.data.train, first_sample(config, setup));
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
  reporter.say(fmt::format("device   {}, {}", device::describe_device(setup.context->device),
                           name_of(setup.context->precision)));
  reporter.say(fmt::format("data     {}: {} training, {} validation samples", config.data.name,
                           render_grouped(static_cast<std::uint64_t>(setup.data.train->size())),
                           render_grouped(static_cast<std::uint64_t>(val_size))));
  for (const std::string& note : setup.data.train->info().notes) {
    reporter.say(note);
  }
  if (setup.data.val != nullptr && setup.data.val->info().notes != setup.data.train->info().notes) {
    for (const std::string& note : setup.data.val->info().notes) {
      reporter.say("val " + note);
    }
  }
  reporter.say(fmt::format(
      "model    {}: {} parameters{}",
      config.model.file.empty() ? config.model.name : config.model.file,
      render_grouped(static_cast<std::uint64_t>(all)),
      trainable == all
          ? ""
          : fmt::format(", {} trained", render_grouped(static_cast<std::uint64_t>(trainable)))));
  say_quantized(reporter, config, setup);
}

void say_sample(Reporter& reporter, const config::Config& config, const Setup& setup,
                const std::string& text) {
  if (text.empty()) {
    return;
  }
  reporter.say(fmt::format("sample   {}; trained on: what stands between {{+ and +}}",
                           setup.data.train->name(first_sample(config, setup))));
  std::string_view rest = text;
  for (std::size_t shown = 0; !rest.empty() && shown < kSampleLines; ++shown) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    reporter.say(fmt::format("  | {}", shorten(line)));
  }
  if (!rest.empty()) {
    reporter.say("  | ... all of it is in the run's sample.txt");
  }
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
