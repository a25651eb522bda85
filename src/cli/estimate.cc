#include "cli/estimate.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/bench.h"
#include "config/value.h"
#include "core/file.h"
#include "core/log.h"
#include "data/dataset.h"
#include "track/attempt.h"

namespace kedge::cli {
namespace {

using nlohmann::json;

// Old runs cost a look each, and the newest tell most.
constexpr std::size_t kMostRuns = 50;

// What decides how long a step takes.
constexpr auto kSameWork =
    std::to_array<std::string_view>({"model.", "data.", "transform.", "loader.batch_size",
                                     "train.precision", "train.accumulate", "dist.ranks"});
// The same data may lie elsewhere.
constexpr auto kPlaces = std::to_array<std::string_view>({"data.path", "data.root"});

bool is_same_work(const config::LoadedConfig& a, const config::LoadedConfig& b) {
  return std::ranges::all_of(a.fields(), [&](const config::Field& field) {
    const auto begins = [&](std::string_view prefix) { return field.path.starts_with(prefix); };
    if (std::ranges::none_of(kSameWork, begins) || std::ranges::any_of(kPlaces, begins)) {
      return true;
    }
    const config::Field* other = b.find(field.path);
    return other != nullptr && config::value_as_yaml(field) == config::value_as_yaml(*other);
  });
}

json read_object(const Path& path) {
  const auto text = read_file(path);
  json object = text ? json::parse(*text, nullptr, false) : json();
  return object.is_object() ? object : json::object();
}

struct PastRun {
  std::string name;
  bool is_gpu = false;
  std::string device;
  double seconds = 0;
  double epochs = 0;
  double steps = 0;
  double samples_per_s = 0;
  bool has_all_steps = false;  // no train.max_steps
};

std::string device_name(const json& device) {
  if (device.value("type", "") == "cuda") {
    return device.value("name", "a GPU");
  }
  return fmt::format("CPU, {} threads", device.value("threads", 1));
}

std::optional<PastRun> read_run(const Path& folder, const config::LoadedConfig& config) {
  const json run = read_object(folder / "run.json");
  const json summary = run.value("summary", json::object());
  if (run.value("state", "") != "finished" || !summary.is_object() || !summary.contains("steps")) {
    return std::nullopt;
  }
  const auto text = read_file(folder / "config.yaml");
  const auto used = text ? config::load_config({.text = *text}) : std::unexpected(text.error());
  if (!used || !is_same_work(config, *used)) {
    return std::nullopt;
  }
  const json device = read_object(folder / "environment.json").value("device", json::object());
  PastRun past{.name = run.value("name", folder.filename().string()),
               .is_gpu = device.value("type", "") == "cuda",
               .device = device_name(device),
               .epochs = summary.value("epochs", 0.0),
               .steps = summary.value("steps", 0.0),
               .samples_per_s = summary.value("samples_per_s", 0.0),
               .has_all_steps = (*used)->train.max_steps == 0};
  for (const track::AttemptFacts& attempt : track::list_attempts(folder)) {
    past.seconds += attempt.seconds;
  }
  if (past.seconds <= 0) {  // an attempt's times are whole seconds
    past.seconds = summary.value("seconds", 0.0);
  }
  return past.seconds > 0 && past.steps > 0 ? std::optional(past) : std::nullopt;
}

std::vector<Path> newest_folders(const Path& project) {
  std::vector<Path> folders;
  std::error_code error;
  std::filesystem::directory_iterator entry(project, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    folders.push_back(entry->path());
  }
  // Names that kedge makes up begin with the time.
  std::ranges::sort(folders, std::greater());
  folders.resize(std::min(folders.size(), kMostRuns));
  return folders;
}

// Nothing where the run's length says nothing about this one's.
std::optional<double> seconds_for(const config::Config& config, const PastRun& run) {
  if (config.train.max_steps > 0) {
    return run.seconds * static_cast<double>(config.train.max_steps) / run.steps;
  }
  if (!run.has_all_steps || run.epochs == 0) {
    return std::nullopt;
  }
  return run.seconds * static_cast<double>(config.train.epochs) / run.epochs;
}

// Samples that are trained on, and those of validation as what they cost: no way back through the
// network is about a third.
Result<double> count_samples(const config::Config& config) {
  const data::TrainVal splits = KEDGE_TRY(data::open_data(config));
  const auto epochs = static_cast<double>(config.train.epochs);
  double samples = epochs * static_cast<double>(splits.train->size());
  if (config.train.max_steps > 0) {
    samples =
        std::min(samples, static_cast<double>(config.train.max_steps * config.loader.batch_size *
                                              config.train.accumulate));
  }
  if (splits.val != nullptr) {
    double rounds =
        config.train.eval_every > 0 ? epochs / static_cast<double>(config.train.eval_every) : 1;
    if (config.train.eval_steps > 0) {
      rounds += samples / static_cast<double>(config.train.eval_steps * config.loader.batch_size *
                                              config.train.accumulate);
    }
    samples += rounds * static_cast<double>(splits.val->size()) / 3;
  }
  return samples;
}

}  // namespace

KnownWork find_past_runs(const config::LoadedConfig& config, bool on_gpu) {
  KnownWork known;
  for (const Path& folder : newest_folders(Path(config->track.dir) / config->run.project)) {
    const auto run = read_run(folder, config);
    if (!run) {
      continue;
    }
    known.speeds.push_back(
        {.is_gpu = run->is_gpu, .device = run->device, .samples_per_s = run->samples_per_s});
    const auto seconds = seconds_for(*config, *run);
    if (!known.estimate && seconds && run->is_gpu == on_gpu) {
      known.estimate = {.task_s = *seconds,
                        .is_gpu = on_gpu,
                        .from = fmt::format("run {} on {}", run->name, run->device)};
    }
  }
  return known;
}

std::optional<jobs::Estimate> find_past_jobs(const jobs::JobBook& book, const jobs::JobSpec& spec) {
  for (const jobs::JobRecord& record : book.read_all()) {
    if (spec.is_kedge || record.spec.command != spec.command ||
        (record.spec.wants.gpus > 0) != (spec.wants.gpus > 0)) {
      continue;
    }
    double longest_s = 0;
    for (const jobs::TaskStatus& task : record.ended) {
      if (task.state == jobs::TaskState::Done && task.restarts == 0) {
        longest_s = std::max(longest_s, task.usage.elapsed_s.value_or(0));
      }
    }
    if (longest_s > 0) {
      return jobs::Estimate{.task_s = longest_s,
                            .is_gpu = spec.wants.gpus > 0,
                            .from = fmt::format("the longest task of job {}", record.key)};
    }
  }
  return std::nullopt;
}

Result<KnownWork> probe(const config::LoadedConfig& config, std::vector<std::string> overrides,
                        bool on_gpu) {
  const double samples = KEDGE_TRY(count_samples(*config));
  const BenchPlan plan{.config_file = config.file, .overrides = std::move(overrides)};
  KnownWork known;
  for (const bool on_cpu : {false, true}) {
    const bool is_needed = !on_cpu || (!known.speeds.empty() && known.speeds.back().is_gpu);
    if (!is_needed) {
      break;
    }
    TrialRuns runs(*config, plan);
    const TrainingSpeed tried =
        KEDGE_TRY(runs.measure({.label = on_cpu ? "a probe on the CPU" : "a probe",
                                .keys = on_cpu ? std::vector<std::string>{"train.device=cpu"}
                                               : std::vector<std::string>{}}));
    if (tried.problem) {
      return fail(ErrorKind::Usage, fmt::format("the probe does not train: {}", *tried.problem),
                  "`kedge train` with this config says more");
    }
    const jobs::MeasuredSpeed speed{
        .is_gpu = runs.is_on_gpu(), .device = runs.device(), .samples_per_s = tried.samples_per_s};
    if (speed.is_gpu == on_gpu && speed.samples_per_s > 0) {
      known.estimate = {.task_s = samples / speed.samples_per_s,
                        .is_gpu = on_gpu,
                        .from = fmt::format("a probe of {} steps on {}", plan.steps, speed.device)};
    }
    known.speeds.push_back(speed);
  }
  if (!known.estimate) {
    warn("the job asks for {}, and the probe ran on {}: it says nothing about the job's time",
         on_gpu ? "a GPU" : "no GPU", known.speeds.front().device);
  }
  return known;
}

}  // namespace kedge::cli
