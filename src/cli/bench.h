// What `kedge bench` measures, and how it tells it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "config/load.h"
#include "core/file.h"
#include "core/result.h"
#include "data/storage.h"

namespace kedge::cli {

struct LoaderSpeed {
  std::int64_t workers = 0;
  double first_batch_s = 0;  // threads and files wake
  double samples_per_s = 0;
  double bytes_per_s = 0;            // of decoded samples
  double longest_wait_s = 0;         // for one batch
  double read_bytes_per_sample = 0;  // out of files
};

// The loader's speeds, and the storage's below it.
struct LoaderReport {
  std::int64_t samples = 0;  // of the training split
  std::vector<LoaderSpeed> speeds;
  std::optional<data::StorageSpeed> storage = {};
};

inline constexpr std::string_view kOutOfMemory = "out of memory";

// One short training, or why there is none.
struct TrainingSpeed {
  std::string label;              // "batch 256"
  std::vector<std::string> keys;  // what was changed to get it
  std::int64_t batch_size = 0;
  double samples_per_s = 0;
  double data_fraction = 0;  // of the time, waiting for batches
  std::uint64_t peak_memory_bytes = 0;
  std::optional<std::string> problem = {};  // "out of memory"
};

// An operation of a step for which the host waits until the device has done all before it.
struct StepWait {
  std::string operation;
  double per_step = 0;
};

struct BenchReport {
  std::string device;  // as `kedge train` names it
  LoaderReport loader;
  std::vector<TrainingSpeed> ways;     // the config as it is first, and last again
  std::vector<TrainingSpeed> batches;  // by batch size
  std::string why_no_larger;  // what ended the batch sizes; empty: nothing but their number
  std::optional<std::vector<StepWait>> waits = {};
};

// The sizes that were tried, and the smallest of them that is as fast as any (within 5%).
struct BatchSearch {
  std::string device;
  std::vector<TrainingSpeed> tried;
  std::int64_t best = 0;
  std::string why_no_larger;
};

struct BenchPlan {
  Path config_file;
  std::vector<std::string> overrides;
  std::int64_t steps = 60;
  double loader_s = 2;  // for each number of workers
};

// The loader over 0, 1, 2, 4, ... workers up to the machine's cores, then the storage.
Result<LoaderReport> measure_loader(const config::Config& config, double seconds);

// The loader with the config's workers; each second, and the first batch, is told with its time.
Result<LoaderReport> watch_loader(const config::Config& config, double seconds,
                                  const std::function<void(const std::string&)>& tell);

// Trains for a few steps in a process of its own, so that a lack of memory ends only that.
class TrialRuns {
 public:
  TrialRuns(const config::Config& config, const BenchPlan& plan) : config_(config), plan_(plan) {}

  Result<TrainingSpeed> measure(TrainingSpeed way);
  Result<TrainingSpeed> measure_batch(std::int64_t batch_size);
  Result<std::vector<StepWait>> find_waits();

  // As `kedge train` named it last.
  const std::string& device() const { return device_; }

  bool is_on_gpu() const { return device_.find("compute capability") != std::string::npos; }

 private:
  struct Ended {
    std::optional<std::string> problem;
    nlohmann::json summary;  // of run.json
    double samples_per_s = 0;
  };

  Result<Ended> train(const std::vector<std::string>& more, std::int64_t steps,
                      std::int64_t batch_size);

  const config::Config& config_;
  const BenchPlan& plan_;
  std::string device_;
};

// Whether the next batch size is worth trying: not where the set is smaller, and on the CPU not
// where the machine's memory would run out, since that may end other programs than ours.
class BatchSteps {
 public:
  BatchSteps(const TrialRuns& runs, std::int64_t samples) : runs_(runs), samples_(samples) {}

  // Why `batch_size` is left out after the sizes that were measured, each double the one before.
  std::optional<std::string> why_not(std::int64_t batch_size,
                                     const std::vector<TrainingSpeed>& measured) const;

 private:
  const TrialRuns& runs_;
  std::int64_t samples_;
};

Result<BenchReport> measure_all(const config::Config& config, const BenchPlan& plan);
Result<BatchSearch> find_batch_size(const config::Config& config, const BenchPlan& plan);

// What to change, most useful first; of a BenchReport never empty, however noisy it is.
std::vector<std::string> advise(const BenchReport& report);
std::vector<std::string> advise(const LoaderReport& report);

// How far two measurements of one thing lie apart, at least a tenth: less means nothing.
double noise_of(const BenchReport& report);

// What training takes as it is configured: the faster of the two measurements.
double base_of(const BenchReport& report);

std::string render_text(const BenchReport& report);
std::string render_text(const LoaderReport& report);
std::string render_text(const BatchSearch& search);
std::string render_json(const BenchReport& report);
std::string render_json(const LoaderReport& report);
std::string render_json(const BatchSearch& search);
std::string render_html(const BenchReport& report);  // one file, with charts

}  // namespace kedge::cli
