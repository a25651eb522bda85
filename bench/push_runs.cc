// Many runs in one process that log as trainers do, and push to a tracking server while they do:
// load for the server, with the real sender, and a measure of what pushing costs the logging side.
//
// Usage: push_runs DIR [--server URL] [--project P] [--id PREFIX] [--runs N] [--steps N]
//                      [--rate STEPS_PER_SECOND] [--wait SECONDS]
//
// Prints one JSON object. Values are functions of the step, so that anybody can check them.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "core/result.h"
#include "core/signals.h"
#include "track/run.h"

namespace {

using namespace kedge;
using Clock = std::chrono::steady_clock;
using Options = std::map<std::string, std::string>;

constexpr std::int64_t kConsoleEvery = 100;
constexpr std::int64_t kEpochSteps = 50;

double number(const Options& options, const char* name, double fallback) {
  const auto found = options.find(name);
  return found == options.end() ? fallback : std::strtod(found->second.c_str(), nullptr);
}

std::string text(const Options& options, const char* name, const char* fallback) {
  const auto found = options.find(name);
  return found == options.end() ? fallback : found->second;
}

Result<std::vector<std::unique_ptr<track::Run>>> make_runs(const Path& dir,
                                                           const Options& options) {
  std::vector<std::unique_ptr<track::Run>> runs;
  const auto count = static_cast<int>(number(options, "--runs", 1));
  for (int i = 0; i < count; ++i) {
    track::RunStart start;
    start.dir = dir;
    start.project = text(options, "--project", "load");
    start.id = count == 1 ? text(options, "--id", "run")
                          : fmt::format("{}-{}", text(options, "--id", "run"), i);
    start.effective_config_text = fmt::format("optimizer:\n  lr: {}\nseed: {}\n", 0.1 / (i + 1), i);
    start.environment = nlohmann::json::object();
    start.csv = "";
    start.server = text(options, "--server", "");
    start.server_wait_s = number(options, "--wait", 10);
    runs.push_back(KEDGE_TRY(track::Run::create(start)));
  }
  return runs;
}

void log_step(track::Run& run, std::int64_t step) {
  const auto x = static_cast<double>(step);
  const std::array<track::Scalar, 4> values = {
      {{.key = "train/loss", .value = 1 / (1 + x / 100)},
       {.key = "train/accuracy", .value = 1 - 1 / (1 + x / 100)},
       {.key = "lr", .value = 0.1 * std::cos(x / 1000)},
       {.key = "grad/norm", .value = step % 1000 == 999 ? NAN : std::fabs(std::sin(x))}}};
  run.log(step, values);
  if (step % kConsoleEvery == 0) {
    run.console(fmt::format("step {}", step));
  }
  if (step % kEpochSteps == 0) {
    const std::array<track::Scalar, 1> epoch = {{{.key = "val/loss", .value = 2 / (1 + x / 100)}}};
    run.log_epoch(step / kEpochSteps, step, epoch);
  }
}

// Microseconds that each step's calls took, over all runs.
std::vector<double> log_all(std::vector<std::unique_ptr<track::Run>>& runs,
                            const Options& options) {
  const auto steps = static_cast<std::int64_t>(number(options, "--steps", 1000));
  const double rate = number(options, "--rate", 100);
  const StopSignals signals;
  std::vector<double> times_us;
  const auto begin = Clock::now();
  for (std::int64_t step = 1; step <= steps && !signals.requested(); ++step) {
    if (rate > 0) {
      std::this_thread::sleep_until(
          begin + std::chrono::duration_cast<Clock::duration>(
                      std::chrono::duration<double>(static_cast<double>(step) / rate)));
    }
    for (auto& run : runs) {
      const auto before = Clock::now();
      log_step(*run, step);
      times_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - before).count());
    }
  }
  return times_us;
}

// In parallel, as many trainers would end: each may wait for the server.
void finish(std::vector<std::unique_ptr<track::Run>>& runs) {
  std::vector<std::jthread> threads;
  threads.reserve(runs.size());
  for (auto& run : runs) {
    threads.emplace_back([&run] {
      run->finish(track::RunState::Finished, nlohmann::json::object());
      run.reset();
    });
  }
}

double at_share(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

Result<void> run(const Path& dir, const Options& options) {
  auto runs = KEDGE_TRY(make_runs(dir, options));
  const auto begin = Clock::now();
  std::vector<double> times_us = log_all(runs, options);
  const auto logged = Clock::now();
  finish(runs);
  std::ranges::sort(times_us);
  const nlohmann::json report = {
      {"runs", runs.size()},
      {"log_s", std::chrono::duration<double>(logged - begin).count()},
      {"finish_s", std::chrono::duration<double>(Clock::now() - logged).count()},
      {"step_us",
       {{"median", at_share(times_us, 0.5)},
        {"p99", at_share(times_us, 0.99)},
        {"max", times_us.back()}}}};
  fmt::print("{}\n", report.dump());
  return {};
}

// Files and connections of a thousand runs are more than most shells allow without asking.
void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace

int main(int argc, char** argv) {
  allow_many_files();
  if (argc < 2 || argc % 2 != 0) {
    fmt::print(stderr, "usage: push_runs DIR [--option value ...]\n");
    return kExitUsage;
  }
  Options options;
  for (int i = 2; i + 1 < argc; i += 2) {
    options[argv[i]] = argv[i + 1];
  }
  const auto done = run(argv[1], options);
  return done ? kExitDone : report(done.error());
}
