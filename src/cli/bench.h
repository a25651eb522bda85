// What `kedge bench` measures, and how it tells it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/load.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::cli {

struct LoaderSpeed {
  std::int64_t workers = 0;
  double samples_per_s = 0;
  double bytes_per_s = 0;  // of decoded samples
};

// One short training, or why there is none.
struct TrainingSpeed {
  std::string label;              // "batch 256"
  std::vector<std::string> keys;  // what was changed to get it
  double samples_per_s = 0;
  std::uint64_t peak_memory_bytes = 0;
  std::optional<std::string> problem = {};  // "out of memory"
};

struct BenchReport {
  std::string device;  // as `kedge train` names it
  std::int64_t batch_size = 0;
  std::int64_t workers = 0;  // that training uses
  std::vector<LoaderSpeed> loader;
  std::vector<TrainingSpeed> ways;     // the config as it is first
  std::vector<TrainingSpeed> batches;  // by batch size
};

struct BenchPlan {
  Path config_file;
  std::vector<std::string> overrides;
  std::int64_t steps = 60;
  double loader_s = 2;  // for each number of workers
};

// The loader alone, over 0, 1, 2, 4, ... workers up to the machine's cores.
Result<std::vector<LoaderSpeed>> measure_loader(const config::Config& config, double seconds);

// All of it. Each training is a process of its own, so that a lack of memory ends only that.
Result<BenchReport> measure_all(const config::Config& config, const BenchPlan& plan);

// What to change, most useful first.
std::vector<std::string> advise(const BenchReport& report);

std::string render_text(const BenchReport& report);
std::string render_json(const BenchReport& report);
std::string render_html(const BenchReport& report);  // one file, with charts

}  // namespace kedge::cli
