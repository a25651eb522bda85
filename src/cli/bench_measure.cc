#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/bench.h"
#include "core/log.h"
#include "core/process.h"
#include "core/stopwatch.h"
#include "data/loader.h"
#include "data/pipeline.h"
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

Path kedge_train() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "kedge-train";
}

std::int64_t bytes_of(const data::Batch& batch) {
  return batch.context > 0
             ? batch.count * (batch.context + 1) * static_cast<std::int64_t>(sizeof(std::int32_t))
             : batch.count * batch.height * batch.width * batch.channels;
}

Result<LoaderSpeed> measure_workers(data::Loader& loader, std::int64_t workers, double seconds) {
  LoaderSpeed speed{.workers = workers};
  std::int64_t samples = 0;
  std::int64_t bytes = 0;
  std::int64_t epoch = 0;
  loader.start_epoch(epoch);
  static_cast<void>(KEDGE_TRY(loader.next()));  // the first waits for threads and files to wake
  const Stopwatch watch;
  while (watch.seconds() < seconds) {
    const auto batch = KEDGE_TRY(loader.next());
    if (batch == nullptr) {
      loader.start_epoch(++epoch);
      continue;
    }
    samples += batch->count;
    bytes += bytes_of(*batch);
  }
  speed.samples_per_s = static_cast<double>(samples) / watch.seconds();
  speed.bytes_per_s = static_cast<double>(bytes) / watch.seconds();
  return speed;
}

// From the log points of the later two thirds: the first steps choose algorithms and record.
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
  if (done.errors.find("out of memory") != std::string::npos || done.exit_code == 137) {
    return "out of memory";
  }
  const std::size_t at = done.errors.find("error: ");
  const std::string text = at == std::string::npos ? done.errors : done.errors.substr(at + 7);
  return text.empty() ? fmt::format("exit code {}", done.exit_code)
                      : text.substr(0, text.find('\n'));
}

std::string device_of(const std::string& output) {
  const std::size_t at = output.find("device   ");
  return at == std::string::npos ? "" : output.substr(at + 9, output.find('\n', at) - at - 9);
}

struct Tried {
  TrainingSpeed speed;
  std::string device;
};

Result<Tried> try_training(const BenchPlan& plan, const config::Config& config, TrainingSpeed way) {
  const ScratchRuns runs = KEDGE_TRY(ScratchRuns::make());
  std::vector<std::string> args = {kedge_train().string(), "train", plan.config_file.string()};
  args.insert(args.end(), plan.overrides.begin(), plan.overrides.end());
  args.insert(args.end(), way.keys.begin(), way.keys.end());
  const std::int64_t log_every = std::max<std::int64_t>(1, plan.steps / 12);
  for (std::string key :
       {fmt::format("track.dir={}", runs.path().string()), std::string("run.project=bench"),
        std::string("run.id=bench"), std::string("resume=never"), std::string("track.server="),
        fmt::format("train.max_steps={}", plan.steps), std::string("train.epochs=1000000"),
        fmt::format("train.log_every={}", log_every), std::string("train.eval_every=0"),
        std::string("checkpoint.every=never"), std::string("early_stop.patience=0")}) {
    args.push_back(std::move(key));
  }
  const ProcessResult done = KEDGE_TRY(run_process({.args = args}));
  Tried tried{.speed = std::move(way), .device = device_of(done.output + done.errors)};
  if (!done.is_ok()) {
    tried.speed.problem = problem_of(done);
    return tried;
  }
  const Path run = runs.path() / "bench" / "bench";
  const auto facts = nlohmann::json::parse(KEDGE_TRY(read_file(run / "run.json")), nullptr, false);
  const nlohmann::json summary = facts.is_object()
                                     ? facts.value("summary", nlohmann::json::object())
                                     : nlohmann::json::object();
  std::int64_t batch = config.loader.batch_size;
  for (const std::string& key : tried.speed.keys) {
    if (key.starts_with("loader.batch_size=")) {
      batch = std::stoll(key.substr(key.find('=') + 1));
    }
  }
  tried.speed.samples_per_s =
      steady_rate(KEDGE_TRY(track::read_history(run)), batch * config.train.accumulate);
  if (tried.speed.samples_per_s == 0) {
    tried.speed.samples_per_s = summary.value("samples_per_s", 0.0);
  }
  tried.speed.peak_memory_bytes = summary.value("peak_memory_bytes", std::uint64_t{0});
  return tried;
}

}  // namespace

Result<std::vector<LoaderSpeed>> measure_loader(const config::Config& config, double seconds) {
  const data::TrainVal parts = KEDGE_TRY(data::open_data(config.data));
  const data::Pipeline pipeline = KEDGE_TRY(data::Pipeline::parse(config.transform.train));
  const auto cores = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<LoaderSpeed> speeds;
  for (std::int64_t workers = 0; workers <= cores; workers = workers == 0 ? 1 : 2 * workers) {
    data::Loader loader(*parts.train, pipeline,
                        {.batch_size = config.loader.batch_size,
                         .workers = workers,
                         .prefetch = std::max(config.loader.prefetch, workers),
                         .shuffle = config.loader.shuffle,
                         .skip_bad = config.data.on_error == config::OnError::Skip,
                         .seed = static_cast<std::uint64_t>(config.seed)});
    speeds.push_back(KEDGE_TRY(measure_workers(loader, workers, seconds)));
  }
  return speeds;
}

Result<BenchReport> measure_all(const config::Config& config, const BenchPlan& plan) {
  BenchReport report{.device = {},
                     .batch_size = config.loader.batch_size,
                     .workers = config.loader.workers,
                     .loader = {},
                     .ways = {},
                     .batches = {}};
  say("the loader alone, {} s for each number of workers", plan.loader_s);
  report.loader = KEDGE_TRY(measure_loader(config, plan.loader_s));

  const auto measure = [&](TrainingSpeed way) -> Result<TrainingSpeed> {
    say("training {} steps: {}", plan.steps, way.label);
    Tried tried = KEDGE_TRY(try_training(plan, config, std::move(way)));
    if (!tried.device.empty() && report.device.empty()) {
      report.device = tried.device;
    }
    return tried.speed;
  };
  report.ways.push_back(KEDGE_TRY(measure({.label = "as configured", .keys = {}})));
  if (report.ways.front().problem) {
    return fail(ErrorKind::Usage,
                fmt::format("the config does not train: {}", *report.ways.front().problem),
                "`kedge train` with it says more");
  }
  std::vector<TrainingSpeed> ways;
  for (const auto precision : {config::Precision::Fp32, config::Precision::Bf16}) {
    if (config.train.precision != precision) {
      const std::string name(config::enum_names(precision)[static_cast<std::size_t>(precision)]);
      ways.push_back({.label = name, .keys = {"train.precision=" + name}});
    }
  }
  if (report.device.find("compute capability") != std::string::npos) {
    ways.push_back({.label = "without graphs", .keys = {"train.graph=false"}});
    ways.push_back({.label = "without our kernels", .keys = {"train.fused=false"}});
    ways.push_back({.label = "samples streamed", .keys = {"loader.resident=false"}});
  }
  for (TrainingSpeed& way : ways) {
    report.ways.push_back(KEDGE_TRY(measure(std::move(way))));
  }
  // Again: how far two measurements of the same thing lie apart is what other differences mean.
  report.ways.push_back(KEDGE_TRY(measure({.label = "as configured, again", .keys = {}})));
  constexpr int kSizes = 6;
  std::int64_t size = std::max<std::int64_t>(1, config.loader.batch_size / 2);
  for (int i = 0; i < kSizes; ++i, size *= 2) {
    report.batches.push_back(KEDGE_TRY(
        measure({.label = fmt::format("batch {}", size),
                 .keys = {fmt::format("loader.batch_size={}", size), "loader.drop_last=false"}})));
    if (report.batches.back().problem) {
      break;
    }
  }
  return report;
}

}  // namespace kedge::cli
