#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cli/bench.h"
#include "core/log.h"
#include "data/dataset.h"

namespace kedge::cli {
namespace {

std::vector<TrainingSpeed> other_ways(const config::Config& config, bool is_on_gpu) {
  std::vector<TrainingSpeed> ways;
  for (const auto precision : {config::Precision::Fp32, config::Precision::Bf16}) {
    if (config.train.precision != precision) {
      const std::string name(config::enum_names(precision)[static_cast<std::size_t>(precision)]);
      ways.push_back({.label = name, .keys = {"train.precision=" + name}});
    }
  }
  if (is_on_gpu) {
    ways.push_back({.label = "without graphs", .keys = {"train.graph=false"}});
    ways.push_back({.label = "without our kernels", .keys = {"train.fused=false"}});
    ways.push_back({.label = "samples streamed", .keys = {"loader.resident=false"}});
  }
  return ways;
}

Result<void> measure_batches(const config::Config& config, TrialRuns& runs, BenchReport& report) {
  constexpr int kSizes = 6;
  const BatchSteps steps(runs, report.loader.samples);
  std::int64_t size = std::max<std::int64_t>(1, config.loader.batch_size / 2);
  for (int i = 0; i < kSizes; ++i, size *= 2) {
    if (const auto why = steps.why_not(size, report.batches)) {
      report.why_no_larger = *why;
      return {};
    }
    report.batches.push_back(KEDGE_TRY(runs.measure_batch(size)));
    if (const auto& problem = report.batches.back().problem) {
      report.why_no_larger = fmt::format("batch {}: {}", size, *problem);
      return {};
    }
  }
  return {};
}

// Batch sizes around the largest that fits, smallest step last. Sizes stay multiples of 8 where
// they are larger: kernels like that.
class Finder {
 public:
  Finder(TrialRuns& runs, std::int64_t samples) : runs_(runs), steps_(runs, samples) {}

  Result<void> run(std::int64_t start) {
    KEDGE_TRY(find_one_that_fits(start));
    KEDGE_TRY(double_until_it_ends());
    return halve_the_gap();
  }

  BatchSearch result() && {
    std::ranges::sort(search_.tried, {}, &TrainingSpeed::batch_size);
    search_.device = runs_.device();
    double most = 0;
    for (const TrainingSpeed& speed : search_.tried) {
      most = std::max(most, speed.samples_per_s);
    }
    for (const TrainingSpeed& speed : search_.tried) {
      if (search_.best == 0 && !speed.problem && speed.samples_per_s >= kAsFast * most) {
        search_.best = speed.batch_size;
      }
    }
    return std::move(search_);
  }

 private:
  static constexpr double kAsFast = 0.95;

  // Whether the size fits. Anything else that is wrong with it ends the search.
  Result<bool> try_size(std::int64_t size) {
    TrainingSpeed speed = KEDGE_TRY(runs_.measure_batch(size));
    if (speed.problem && *speed.problem != kOutOfMemory) {
      return fail(ErrorKind::Usage,
                  fmt::format("batch {} does not train: {}", size, *speed.problem),
                  "`kedge train` with it says more");
    }
    const bool fits = !speed.problem;
    search_.tried.push_back(std::move(speed));
    if (fits) {
      growing_.push_back(search_.tried.back());
    } else {
      too_large_ = size;
      search_.why_no_larger = fmt::format("batch {}: {}", size, kOutOfMemory);
    }
    return fits;
  }

  Result<void> find_one_that_fits(std::int64_t size) {
    while (!KEDGE_TRY(try_size(size))) {
      if (size == 1) {
        return fail(ErrorKind::Unavailable, "a batch of one sample does not fit into memory",
                    "smaller images or a shorter context, a smaller model, train.precision=bf16");
      }
      size = std::max<std::int64_t>(1, size / 2);
    }
    return {};
  }

  Result<void> double_until_it_ends() {
    int no_faster = 0;
    while (too_large_ == 0) {
      const std::int64_t size = 2 * growing_.back().batch_size;
      if (const auto why = steps_.why_not(size, growing_)) {
        search_.why_no_larger = *why;
        return {};
      }
      const double before = fastest();
      if (!KEDGE_TRY(try_size(size))) {
        return {};
      }
      no_faster = growing_.back().samples_per_s * kAsFast > before ? 0 : no_faster + 1;
      if (no_faster == 2) {
        search_.why_no_larger = fmt::format("batch {} is no faster", size);
        return {};
      }
    }
    return {};
  }

  Result<void> halve_the_gap() {
    constexpr int kHalvings = 2;
    constexpr std::int64_t kMultiple = 8;
    std::int64_t fits = growing_.back().batch_size;
    for (int i = 0; i < kHalvings && too_large_ - fits >= 2 * kMultiple; ++i) {
      const std::int64_t size = (fits + too_large_) / 2 / kMultiple * kMultiple;
      if (KEDGE_TRY(try_size(size))) {
        fits = size;
      }
    }
    return {};
  }

  double fastest() const {
    double most = 0;
    for (const TrainingSpeed& speed : growing_) {
      most = std::max(most, speed.samples_per_s);
    }
    return most;
  }

  TrialRuns& runs_;
  BatchSteps steps_;
  BatchSearch search_;
  std::vector<TrainingSpeed> growing_;  // those that fit, in the order they were tried
  std::int64_t too_large_ = 0;          // the smallest that did not fit; 0: none
};

}  // namespace

Result<BenchReport> measure_all(const config::Config& config, const BenchPlan& plan) {
  BenchReport report;
  say("the loader alone, {} s for each number of workers", plan.loader_s);
  report.loader = KEDGE_TRY(measure_loader(config, plan.loader_s));
  TrialRuns runs(config, plan);
  report.ways.push_back(KEDGE_TRY(runs.measure({.label = "as configured", .keys = {}})));
  if (report.ways.front().problem) {
    return fail(ErrorKind::Usage,
                fmt::format("the config does not train: {}", *report.ways.front().problem),
                "`kedge train` with it says more");
  }
  report.device = runs.device();
  for (TrainingSpeed& way : other_ways(config, runs.is_on_gpu())) {
    report.ways.push_back(KEDGE_TRY(runs.measure(std::move(way))));
  }
  // Again: how far two measurements of the same thing lie apart is what other differences mean.
  report.ways.push_back(KEDGE_TRY(runs.measure({.label = "as configured, again", .keys = {}})));
  report.waits = KEDGE_TRY(runs.find_waits());
  KEDGE_TRY(measure_batches(config, runs, report));
  return report;
}

Result<BatchSearch> find_batch_size(const config::Config& config, const BenchPlan& plan) {
  const std::int64_t samples = KEDGE_TRY(data::open_data(config)).train->size();
  TrialRuns runs(config, plan);
  Finder finder(runs, samples);
  KEDGE_TRY(finder.run(std::min(config.loader.batch_size, std::max<std::int64_t>(samples, 1))));
  return std::move(finder).result();
}

}  // namespace kedge::cli
