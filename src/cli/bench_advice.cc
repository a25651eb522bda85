// What to change, from what was measured.
#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/bench.h"
#include "core/units.h"

namespace kedge::cli {
namespace {

using Advice = std::vector<std::string>;

// Two measurements of one thing on an idle machine differ by less.
constexpr double kLeastNoise = 1.1;

const TrainingSpeed* fastest(const std::vector<TrainingSpeed>& speeds) {
  const TrainingSpeed* best = nullptr;
  for (const TrainingSpeed& speed : speeds) {
    if (!speed.problem && (best == nullptr || speed.samples_per_s > best->samples_per_s)) {
      best = &speed;
    }
  }
  return best;
}

const LoaderSpeed* fastest(const LoaderReport& report) {
  const auto best = std::ranges::max_element(report.speeds, {}, &LoaderSpeed::samples_per_s);
  return best == report.speeds.end() ? nullptr : &*best;
}

std::string change_of(const TrainingSpeed& speed) {
  return speed.keys.empty() ? "" : speed.keys.front();
}

// A gain below the noise is reported as such: it is the first thing to measure again.
void advise_change(const BenchReport& report, const TrainingSpeed* change, std::string_view note,
                   Advice& advice) {
  const double gain = change == nullptr ? 0 : change->samples_per_s / base_of(report);
  if (gain > noise_of(report)) {
    advice.push_back(fmt::format("{} is {:.1f} times as fast{}", change_of(*change), gain, note));
  } else if (gain > kLeastNoise) {
    advice.push_back(
        fmt::format("{} may be {:.1f} times as fast, which is less than the noise: measure again "
                    "when the machine is idle",
                    change_of(*change), gain));
  }
}

void advise_on_training(const BenchReport& report, Advice& advice) {
  advise_change(report, fastest(report.ways), "", advice);
  advise_change(report, fastest(report.batches),
                "; the learning rate may have to follow it (`kedge bench --batch-size --write` "
                "finds and sets it)",
                advice);
}

void advise_on_loader(const BenchReport& report, Advice& advice) {
  const double needed = base_of(report);
  const LoaderSpeed* best = fastest(report.loader);
  if (best == nullptr) {
    return;
  }
  if (best->samples_per_s < 1.1 * needed) {
    advice.push_back(fmt::format(
        "the loader is the limit: {} samples/s at best, training uses {}. More cores for "
        "loader.workers, smaller images, fewer transforms, or images resized once on disk help",
        render_count(best->samples_per_s), render_count(needed)));
  }
  const auto enough = std::ranges::find_if(report.loader.speeds, [&](const LoaderSpeed& speed) {
    return speed.samples_per_s >= 1.5 * needed;
  });
  if (enough != report.loader.speeds.end()) {
    advice.push_back(fmt::format("loader.workers={} gives {:.1f} times what training takes",
                                 enough->workers, enough->samples_per_s / std::max(needed, 1e-9)));
  }
  constexpr double kMuchWaiting = 0.2;
  if (const double fraction = report.ways.front().data_fraction; fraction > kMuchWaiting) {
    advice.push_back(
        fmt::format("training waits for data {:.0f}% of the time: more loader.workers, a larger "
                    "loader.prefetch",
                    100 * fraction));
  }
}

// `rate`: samples per second that somebody wants.
void advise_on_storage(const LoaderReport& report, double rate, Advice& advice) {
  const LoaderSpeed* best = fastest(report);
  if (!report.storage || best == nullptr) {
    return;
  }
  const double needed = rate * best->read_bytes_per_sample;
  const double given = report.storage->bytes_per_s();
  if (needed > given) {
    advice.push_back(fmt::format(
        "the storage is the limit: {}/s are needed, {} gives {}/s. Copy the data to a disk of "
        "this machine first ($TMPDIR of a job), or store smaller images; what fits into memory "
        "is slow in the first epoch only",
        render_bytes({static_cast<std::uint64_t>(needed)}), report.storage->place.string(),
        render_bytes({static_cast<std::uint64_t>(given)})));
  }
}

void advise_on_memory(const BenchReport& report, Advice& advice) {
  for (const auto* speeds : {&report.ways, &report.batches}) {
    for (const TrainingSpeed& speed : *speeds) {
      if (speed.problem == kOutOfMemory) {
        advice.push_back(fmt::format(
            "{} runs out of memory: train.accumulate=2 with half the batch is the same step; "
            "train.precision=bf16, smaller images or a shorter context, or a smaller model take "
            "less",
            speed.label));
        return;
      }
    }
  }
}

void advise_on_waits(const BenchReport& report, Advice& advice) {
  if (!report.waits || report.waits->empty()) {
    return;
  }
  std::vector<std::string> names;
  for (const StepWait& wait : *report.waits) {
    names.push_back(wait.operation);
  }
  advice.push_back(
      fmt::format("the model reads values back in every step ({}): on a GPU the host waits there, "
                  "and the step cannot be captured; compute with tensors instead of numbers",
                  fmt::join(names, ", ")));
}

}  // namespace

double base_of(const BenchReport& report) {
  return std::max(report.ways.front().samples_per_s, report.ways.back().samples_per_s);
}

double noise_of(const BenchReport& report) {
  const double slower =
      std::min(report.ways.front().samples_per_s, report.ways.back().samples_per_s);
  return std::max(kLeastNoise, base_of(report) / std::max(slower, 1e-9));
}

Advice advise(const BenchReport& report) {
  Advice advice;
  advise_on_training(report, advice);
  advise_on_waits(report, advice);
  advise_on_loader(report, advice);
  advise_on_storage(report.loader, base_of(report), advice);
  advise_on_memory(report, advice);
  if (advice.empty()) {
    advice.emplace_back("keep the config: nothing that was measured is faster");
  }
  return advice;
}

Advice advise(const LoaderReport& report) {
  Advice advice;
  if (const LoaderSpeed* best = fastest(report)) {
    advise_on_storage(report, best->samples_per_s, advice);
  }
  return advice;
}

}  // namespace kedge::cli
