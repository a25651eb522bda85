// Short trainings of the config with some values changed.
#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/bench.h"
#include "cli/verbs.h"
#include "core/log.h"
#include "core/process.h"
#include "core/units.h"
#include "monitor/host_sampler.h"
#include "track/history.h"

namespace kedge::cli {
namespace {

// A folder for runs nobody wants to keep.
class ScratchRuns {
 public:
  static Result<ScratchRuns> make() {
    std::string path = (std::filesystem::temp_directory_path() / "kedge-bench-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) {
      return fail(ErrorKind::Io, fmt::format("cannot make a folder like {}", path));
    }
    return ScratchRuns(path);
  }

  ScratchRuns(ScratchRuns&& other) noexcept : path_(std::exchange(other.path_, {})) {}

  ScratchRuns(const ScratchRuns&) = delete;
  ScratchRuns& operator=(const ScratchRuns&) = delete;

  ~ScratchRuns() {
    std::error_code ignored;
    if (!path_.empty()) {
      std::filesystem::remove_all(path_, ignored);
    }
  }

  const Path& path() const { return path_; }

 private:
  explicit ScratchRuns(Path path) : path_(std::move(path)) {}

  Path path_;
};

// From the log points of the later two thirds: the first steps choose algorithms and are captured.
double steady_rate(const track::History& history, std::int64_t samples_per_step) {
  const auto found = history.curves.find("train/step_loss");
  if (found == history.curves.end() || found->second.points.size() < 3) {
    return 0;
  }
  const std::vector<track::Point>& points = found->second.points;
  const track::Point& from = points[points.size() / 3];
  const track::Point& to = points.back();
  const double seconds = static_cast<double>(to.time_us - from.time_us) / 1e6;
  return seconds > 0 ? static_cast<double>((to.step - from.step) * samples_per_step) / seconds : 0;
}

std::string problem_of(const ProcessResult& done) {
  constexpr int kKilled = 128 + 9;  // by the kernel, when memory runs out
  if (done.errors.find("out of memory") != std::string::npos || done.exit_code == kKilled) {
    return std::string(kOutOfMemory);
  }
  const std::size_t at = done.errors.find("error: ");
  const std::string text = at == std::string::npos ? done.errors : done.errors.substr(at + 7);
  return text.empty() ? fmt::format("exit code {}", done.exit_code)
                      : text.substr(0, text.find('\n'));
}

std::string device_of(const std::string& output) {
  constexpr std::string_view kName = "device   ";
  const std::size_t at = output.find(kName);
  return at == std::string::npos
             ? ""
             : output.substr(at + kName.size(), output.find('\n', at) - at - kName.size());
}

// What programs may still take: of the machine, and of the control group they are in.
std::uint64_t free_memory_bytes() {
  const monitor::HostSample sample = monitor::HostSampler().sample();
  std::uint64_t free = sample.memory_total.value_or(0) - sample.memory_used.value_or(0);
  if (sample.limit && sample.limit_used) {
    free = std::min(free, *sample.limit - std::min(*sample.limit, *sample.limit_used));
  }
  return free;
}

}  // namespace

Result<TrialRuns::Ended> TrialRuns::train(const std::vector<std::string>& more, std::int64_t steps,
                                          std::int64_t batch_size) {
  const ScratchRuns runs = KEDGE_TRY(ScratchRuns::make());
  std::vector<std::string> args = {kedge_train_program(), "train", plan_.config_file.string()};
  args.insert(args.end(), plan_.overrides.begin(), plan_.overrides.end());
  args.insert(args.end(), more.begin(), more.end());
  const std::int64_t log_every = std::max<std::int64_t>(1, steps / 12);
  for (std::string key :
       {fmt::format("track.dir={}", runs.path().string()), std::string("run.project=bench"),
        std::string("run.id=bench"), std::string("resume=never"), std::string("track.server="),
        fmt::format("train.max_steps={}", steps), std::string("train.epochs=1000000"),
        fmt::format("train.log_every={}", log_every), std::string("train.eval_every=0"),
        std::string("checkpoint.every=never"), std::string("early_stop.patience=0")}) {
    args.push_back(std::move(key));
  }
  const ProcessResult done = KEDGE_TRY(run_process({.args = args}));
  if (const std::string device = device_of(done.output + done.errors); !device.empty()) {
    device_ = device;
  }
  if (!done.is_ok()) {
    return Ended{.problem = problem_of(done), .summary = nlohmann::json::object()};
  }
  const Path run = runs.path() / "bench" / "bench";
  const auto facts = nlohmann::json::parse(KEDGE_TRY(read_file(run / "run.json")), nullptr, false);
  nlohmann::json summary = facts.is_object() ? facts.value("summary", nlohmann::json::object())
                                             : nlohmann::json::object();
  const double rate =
      steady_rate(KEDGE_TRY(track::read_history(run)), batch_size * config_.train.accumulate);
  const double whole = summary.value("samples_per_s", 0.0);
  return Ended{
      .problem = {}, .summary = std::move(summary), .samples_per_s = rate > 0 ? rate : whole};
}

Result<TrainingSpeed> TrialRuns::measure(TrainingSpeed way) {
  say("training {} steps: {}", plan_.steps, way.label);
  if (way.batch_size == 0) {
    way.batch_size = config_.loader.batch_size;
  }
  Ended ended = KEDGE_TRY(train(way.keys, plan_.steps, way.batch_size));
  way.problem = std::move(ended.problem);
  way.samples_per_s = ended.samples_per_s;
  way.data_fraction = ended.summary.value("data_share", 0.0);
  way.peak_memory_bytes = ended.summary.value("peak_memory_bytes", std::uint64_t{0});
  return way;
}

Result<TrainingSpeed> TrialRuns::measure_batch(std::int64_t batch_size) {
  return measure({.label = fmt::format("batch {}", batch_size),
                  .keys = {fmt::format("loader.batch_size={}", batch_size),
                           std::string("loader.drop_last=false")},
                  .batch_size = batch_size});
}

Result<std::vector<StepWait>> TrialRuns::find_waits() {
  constexpr std::int64_t kSteps = 6;
  say("training {} steps: looking for waits", kSteps);
  const Ended ended = KEDGE_TRY(train({"--waits"}, kSteps, config_.loader.batch_size));
  if (ended.problem) {
    return fail(ErrorKind::Usage, *ended.problem);
  }
  std::vector<StepWait> waits;
  for (const auto& [operation, per_step] :
       ended.summary.value("waits_per_step", nlohmann::json::object()).items()) {
    waits.push_back({operation, per_step.get<double>()});
  }
  return waits;
}

std::optional<std::string> BatchSteps::why_not(std::int64_t batch_size,
                                               const std::vector<TrainingSpeed>& measured) const {
  if (batch_size > samples_) {
    return fmt::format("the training set has {} samples", samples_);
  }
  if (runs_.is_on_gpu() || measured.size() < 2) {
    return std::nullopt;
  }
  // The part that grows with the batch doubles with it.
  const std::uint64_t last = measured.back().peak_memory_bytes;
  const std::uint64_t before = measured[measured.size() - 2].peak_memory_bytes;
  const std::uint64_t next = last + 2 * (last - std::min(before, last));
  constexpr double kFraction = 0.8;
  const double room = kFraction * static_cast<double>(free_memory_bytes());
  if (static_cast<double>(next) <= room) {
    return std::nullopt;
  }
  return fmt::format("batch {} would take about {}, and {} are free", batch_size,
                     render_bytes({next}),
                     render_bytes({static_cast<std::uint64_t>(room / kFraction)}));
}

}  // namespace kedge::cli
