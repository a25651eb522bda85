#include "train/preparation.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>

#include "core/nearest.h"
#include "dist/process_group.h"
#include "train/internal/first_image.h"
#include "train/meters.h"

namespace kedge::train {

nlohmann::json Preparation::to_json() const {
  return {{"task",
           {{"height", task.height},
            {"width", task.width},
            {"channels", task.channels},
            {"classes", task.classes},
            {"context", task.context},
            {"vocab", task.vocab}}},
          {"class_names", class_names},
          {"transform", eval_steps},
          {"mean", normalise.mean},
          {"std", normalise.std}};
}

Result<Preparation> Preparation::from_json(const nlohmann::json& json) {
  try {
    const nlohmann::json& task = json.at("task");
    return Preparation{.task = {.height = task.at("height"),
                                .width = task.at("width"),
                                .channels = task.at("channels"),
                                .classes = task.at("classes"),
                                .context = task.at("context"),
                                .vocab = task.at("vocab")},
                       .class_names = json.at("class_names"),
                       .eval_steps = json.at("transform"),
                       .normalise = {.mean = json.at("mean"), .std = json.at("std")}};
  } catch (const nlohmann::json::exception& error) {
    return fail(
        ErrorKind::Corrupt,
        fmt::format("the checkpoint does not say how inputs are prepared: {}", error.what()));
  }
}

void apply_compute_settings(const config::Config& config) {
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  at::set_num_threads(config.train.threads > 0 ? static_cast<int>(config.train.threads) : cores);
  at::globalContext().setDeterministicAlgorithms(config.train.deterministic, false);
  at::globalContext().setDeterministicCuDNN(config.train.deterministic);
  at::globalContext().setBenchmarkCuDNN(!config.train.deterministic);
  at::globalContext().setAllowTF32CuDNN(config.train.tf32);
  at::globalContext().setAllowTF32CuBLAS(config.train.tf32);
  if (config.train.deterministic) {
    // cuBLAS promises a fixed order of sums only with a fixed workspace.
    ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
  }
}

Result<Preparation> prepare(const config::Config& config, const data::Dataset& dataset,
                            const data::Pipeline& eval_pipeline) {
  const data::DatasetInfo& info = dataset.info();
  Preparation preparation;
  preparation.class_names = info.class_names;
  preparation.eval_steps = eval_pipeline.steps();
  nn::Task& task = preparation.task;
  if (const data::FieldInfo* tokens = data::find_field(info.fields, data::kTokens)) {
    if (config.train.mixup > 0) {
      return fail(ErrorKind::Usage, "train.mixup mixes images, but the data are tokens",
                  "leave train.mixup out");
    }
    task.context = tokens->shape.front() - 1;
    task.vocab = config.model.vocab.value_or(info.vocab);
    if (task.vocab < info.vocab) {
      return fail(ErrorKind::Usage,
                  fmt::format("model.vocab is {}, but the data has tokens up to {}", task.vocab,
                              info.vocab - 1));
    }
    return preparation;
  }
  const data::Image image = KEDGE_TRY(first_image(config, dataset, eval_pipeline));
  task.height = image.height;
  task.width = image.width;
  task.channels = image.channels;
  const auto data_classes = static_cast<std::int64_t>(info.class_names.size());
  task.classes = config.model.classes > 0 ? config.model.classes : data_classes;
  if (task.classes < data_classes) {
    return fail(
        ErrorKind::Usage,
        fmt::format("model.classes is {}, but the data has {} classes", task.classes, data_classes),
        "leave model.classes out to take the data's, or choose some with data.classes");
  }
  preparation.normalise = config.transform.mean.empty()
                              ? Normalise{info.mean, info.std}
                              : Normalise{config.transform.mean, config.transform.std};
  if (static_cast<std::int64_t>(preparation.normalise.mean.size()) != task.channels) {
    return fail(ErrorKind::Usage,
                fmt::format("transform.mean has {} values, but the images have {} channels",
                            preparation.normalise.mean.size(), task.channels));
  }
  return preparation;
}

Result<void> check_metric_names(const config::Config& config, const Preparation& preparation,
                                bool has_validation) {
  const bool is_language = preparation.task.is_language();
  const auto group = dist::make_single_process_group();
  std::vector<std::string> known;
  const auto add = [&](const std::string& prefix, std::int64_t classes) {
    for (const auto& [name, value] :
         Meters({.classes = classes, .is_language = is_language}).read(prefix, *group)) {
      known.push_back(name);
    }
  };
  add("train/", config.train.mixup > 0 ? 0 : preparation.task.classes);
  if (has_validation) {
    add("val/", preparation.task.classes);
  }
  const auto check = [&](bool is_used, const char* key, const std::string& name) -> Result<void> {
    if (!is_used || std::ranges::find(known, name) != known.end()) {
      return {};
    }
    Error error = unknown_name("metric", name, known);
    error.message = fmt::format("{}: {}", key, error.message);
    return std::unexpected(std::move(error));
  };
  KEDGE_TRY(
      check(!config.checkpoint.metric.empty(), "checkpoint.metric", config.checkpoint.metric));
  KEDGE_TRY(check(config.early_stop.patience > 0, "early_stop.metric", config.early_stop.metric));
  return check(config.schedule.name == "plateau", "schedule.metric", config.schedule.metric);
}

void use_channels_last(const nn::Model& model) {
  for (auto& [name, tensor] : model.parameters()) {
    if (tensor.dim() == 4) {
      at::Tensor parameter = tensor;
      parameter.set_data(parameter.data().contiguous(at::MemoryFormat::ChannelsLast));
    }
  }
}

std::int64_t loader_workers(std::int64_t wish, at::Device device) {
  if (wish >= 0) {
    return wish;
  }
  constexpr std::int64_t kMost = 8;
  const auto cores = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  return device.is_cuda() ? std::clamp<std::int64_t>(cores - 2, 1, kMost) : 1;
}

}  // namespace kedge::train
