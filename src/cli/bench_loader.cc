// The loader and the storage below it, without a model.
#include <algorithm>
#include <charconv>
#include <memory>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "cli/bench.h"
#include "core/stopwatch.h"
#include "core/units.h"
#include "data/loader.h"
#include "data/pipeline.h"

namespace kedge::cli {
namespace {

std::int64_t cores() {
  return static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
}

double bytes_of(const data::Batch& batch) {
  double bytes = 0;
  for (const data::Field& field : batch.fields) {
    bytes += static_cast<double>(batch.count) * static_cast<double>(field.bytes_per_sample());
  }
  return bytes;
}

// What this process has read() so far, from storage or from the kernel's memory.
double bytes_read() {
  const auto text = read_file("/proc/self/io");
  constexpr std::string_view kName = "rchar: ";
  const std::size_t at = text ? text->find(kName) : std::string::npos;
  double bytes = 0;
  if (at != std::string::npos) {
    const char* begin = text->data() + at + kName.size();
    std::from_chars(begin, text->data() + text->size(), bytes);
  }
  return bytes;
}

// Sees what came in a second of a measurement, and how long it took so far.
using EachSecond = std::function<void(const LoaderSpeed& second, double at_s)>;

class Measurement {
 public:
  Measurement(const data::TrainVal& splits, const data::Pipeline& pipeline,
              const config::Config& config, std::int64_t workers)
      : is_mapped_(data::find_field(splits.train->info().fields, data::kImage) == nullptr),
        loader_(*splits.train, pipeline,
                {.batch_size = config.loader.batch_size,
                 .workers = workers,
                 .prefetch = std::max(config.loader.prefetch, workers),
                 .shuffle = config.loader.shuffle,
                 .skip_bad = config.data.on_error == config::OnError::Skip,
                 .seed = static_cast<std::uint64_t>(config.seed)}) {
    whole_.workers = workers;
  }

  Result<LoaderSpeed> run(double seconds, const EachSecond& each_second) {
    const Stopwatch start;
    loader_.start_epoch(epoch_);
    static_cast<void>(KEDGE_TRY(loader_.next()));
    whole_.first_batch_s = start.seconds();
    const double read_before = bytes_read();
    Counts all;
    Counts second;
    const Stopwatch watch;
    Stopwatch second_watch;
    // One look at the clock a batch: between two the last second could be lost.
    for (double at_s = 0; at_s < seconds;) {
      KEDGE_TRY(take(second));
      at_s = watch.seconds();
      if (second_watch.seconds() >= 1 || at_s >= seconds) {
        each_second(speed_of(second, second_watch.seconds()), at_s);
        all.add(std::exchange(second, {}));
        second_watch.restart();
      }
    }
    LoaderSpeed speed = speed_of(all, watch.seconds());
    // Mapped files are not read(): every byte of a sample may come from storage.
    speed.read_bytes_per_sample = (is_mapped_ ? all.bytes : bytes_read() - read_before) /
                                  std::max(static_cast<double>(all.samples), 1.0);
    return speed;
  }

 private:
  struct Counts {
    std::int64_t samples = 0;
    double bytes = 0;
    double longest_s = 0;

    void add(const Counts& other) {
      samples += other.samples;
      bytes += other.bytes;
      longest_s = std::max(longest_s, other.longest_s);
    }
  };

  Result<void> take(Counts& counts) {
    const Stopwatch wait;
    const auto batch = KEDGE_TRY(loader_.next());
    if (batch == nullptr) {
      loader_.start_epoch(++epoch_);
      return {};
    }
    counts.add({batch->count, bytes_of(*batch), wait.seconds()});
    return {};
  }

  LoaderSpeed speed_of(const Counts& counts, double seconds) const {
    LoaderSpeed speed = whole_;
    speed.samples_per_s = static_cast<double>(counts.samples) / seconds;
    speed.bytes_per_s = counts.bytes / seconds;
    speed.longest_wait_s = counts.longest_s;
    return speed;
  }

  bool is_mapped_;
  data::Loader loader_;
  std::int64_t epoch_ = 0;
  LoaderSpeed whole_;
};

}  // namespace

Result<LoaderReport> measure_loader(const config::Config& config, double seconds) {
  const data::TrainVal splits = KEDGE_TRY(data::open_data(config));
  const data::Pipeline pipeline = KEDGE_TRY(data::Pipeline::parse(config.transform.train));
  LoaderReport report{.samples = splits.train->size(), .speeds = {}};
  for (std::int64_t workers = 0; workers <= cores(); workers = workers == 0 ? 1 : 2 * workers) {
    Measurement measurement(splits, pipeline, config, workers);
    report.speeds.push_back(KEDGE_TRY(measurement.run(seconds, [](const LoaderSpeed&, double) {})));
  }
  report.storage = data::measure_storage(config.data, cores(), seconds);
  return report;
}

Result<LoaderReport> watch_loader(const config::Config& config, double seconds,
                                  const std::function<void(const std::string&)>& tell) {
  const Stopwatch opening;
  const data::TrainVal splits = KEDGE_TRY(data::open_data(config));
  const data::Pipeline pipeline = KEDGE_TRY(data::Pipeline::parse(config.transform.train));
  tell(fmt::format("{}: {} training samples, opened in {}", config.data.name,
                   render_grouped(static_cast<std::uint64_t>(splits.train->size())),
                   render_seconds({opening.seconds()})));
  const std::int64_t workers = config.loader.workers >= 0 ? config.loader.workers : cores();
  Measurement measurement(splits, pipeline, config, workers);
  bool is_first = true;
  const LoaderSpeed speed =
      KEDGE_TRY(measurement.run(seconds, [&](const LoaderSpeed& second, double at_s) {
        if (std::exchange(is_first, false)) {
          tell(fmt::format("the first batch of {} came after {}", config.loader.batch_size,
                           render_seconds({second.first_batch_s})));
        }
        tell(fmt::format("{:4.1f} s  {} samples/s  {}/s  longest wait {}", at_s,
                         render_count(second.samples_per_s),
                         render_bytes({static_cast<std::uint64_t>(second.bytes_per_s)}),
                         render_seconds({second.longest_wait_s})));
      }));
  LoaderReport report{.samples = splits.train->size(), .speeds = {speed}};
  report.storage = data::measure_storage(config.data, std::max<std::int64_t>(workers, 1), seconds);
  return report;
}

}  // namespace kedge::cli
