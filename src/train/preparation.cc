#include "train/preparation.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>

#include "core/nearest.h"
#include "device/device.h"
#include "device/plugin.h"
#include "dist/process_group.h"
#include "kernels/fused.h"

namespace kedge::train {

nlohmann::json Preparation::to_json() const {
  return {{"task",
           {{"name", task_name},
            {"height", signature.height},
            {"width", signature.width},
            {"channels", signature.channels},
            {"classes", signature.classes},
            {"context", signature.context},
            {"vocab", signature.vocab}}},
          {"class_names", class_names},
          {"transform", eval_steps},
          {"mean", normalise.mean},
          {"std", normalise.std}};
}

Result<Preparation> Preparation::from_json(const nlohmann::json& json) {
  Preparation preparation;
  try {
    const nlohmann::json& task = json.at("task");
    // Older checkpoints do not name it.
    preparation.task_name =
        task.value("name", task.at("context") > 0 ? "language_modelling" : "classification");
    preparation.signature = {.height = task.at("height"),
                             .width = task.at("width"),
                             .channels = task.at("channels"),
                             .classes = task.at("classes"),
                             .context = task.at("context"),
                             .vocab = task.at("vocab")};
    preparation.class_names = json.at("class_names");
    preparation.eval_steps = json.at("transform");
    preparation.normalise = {.mean = json.at("mean"), .std = json.at("std")};
  } catch (const nlohmann::json::exception& error) {
    return fail(
        ErrorKind::Corrupt,
        fmt::format("the checkpoint does not say how inputs are prepared: {}", error.what()));
  }
  preparation.task = KEDGE_TRY(Tasks::make("task", preparation.task_name));
  return preparation;
}

void apply_compute_settings(const config::Config& config) {
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  at::set_num_threads(config.train.threads > 0 ? static_cast<int>(config.train.threads) : cores);
  at::globalContext().setDeterministicAlgorithms(config.train.deterministic, false);
  at::globalContext().setDeterministicCuDNN(config.train.deterministic);
  at::globalContext().setBenchmarkCuDNN(!config.train.deterministic);
  at::globalContext().setAllowTF32CuDNN(config.train.tf32);
  at::globalContext().setAllowTF32CuBLAS(config.train.tf32);
  device::prefer_attention(config.train.attention);
  if (config.train.deterministic) {
    // cuBLAS promises a fixed order of sums only with a fixed workspace.
    ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
  }
}

Result<device::Context> make_context(const config::TrainConfig& config) {
  device::Context context = KEDGE_TRY(device::make_context(config));
  if (context.device.is_cuda() && device::plugin() != nullptr) {
    device::plugin()->leave_default_stream();
    if (config.fused) {
      context.fused = KEDGE_TRY(kernels::fused_ops(*device::plugin()));
    }
  }
  return context;
}

Result<Preparation> prepare(const config::Config& config, const data::Dataset& dataset,
                            const data::Pipeline& eval_pipeline) {
  const data::DatasetInfo& info = dataset.info();
  Preparation preparation;
  for (const auto& [name, entry] : Tasks::all()) {
    auto task = KEDGE_TRY(entry.make());
    if (task->fits(info)) {
      preparation.task_name = name;
      preparation.task = std::move(task);
    }
  }
  KEDGE_CHECK(preparation.task != nullptr, "every source's samples are for a task");
  preparation.class_names = info.class_names;
  preparation.eval_steps = eval_pipeline.steps();
  const Task& task = *preparation.task;
  preparation.signature = KEDGE_TRY(task.find_signature(config, dataset, eval_pipeline));
  preparation.normalise = KEDGE_TRY(task.find_normalise(config, info, preparation.signature));
  return preparation;
}

Result<void> check_metric_names(const config::Config& config, const Preparation& preparation,
                                bool has_validation) {
  const auto group = dist::make_single_process_group();
  std::vector<std::string> known;
  const auto add = [&](const std::string& prefix, bool has_mixed_targets) {
    const auto meters = preparation.task->make_meters(preparation.signature,
                                                      {.has_mixed_targets = has_mixed_targets});
    for (const auto& [name, value] : meters->read(prefix, *group)) {
      known.push_back(name);
    }
  };
  add("train/", config.train.mixup > 0);
  if (has_validation) {
    add("val/", /*has_mixed_targets=*/false);
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
