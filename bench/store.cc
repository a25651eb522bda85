// How fast is the store? Values taken in from event logs on one core, searches over many runs, the
// chart of a long series, the start with many runs. Usage: bench_store [FOLDER [logs | start]]:
// only that question; with `start` the folder stays, and what is in it is not made again.
#include "store/store.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sched.h>
#include <stdlib.h>

#include "core/hash.h"
#include "core/result.h"
#include "core/stopwatch.h"

namespace kedge {
namespace {

using store::RunKey;
using store::RunPatch;
using store::Store;

constexpr std::int64_t kNow = 1'794'719'617'000'000;

void append_text(std::string& out, std::string_view text) {
  out += static_cast<char>(0x60 + text.size());  // shorter than 24 bytes
  out += text;
}

void append_number(std::string& out, std::uint64_t value, char head) {
  out += head;
  for (int shift = 56; shift >= 0; shift -= 8) {
    out += static_cast<char>(value >> shift);
  }
}

// Frames of `scalars` records as docs/formats/klog.md has them.
std::string make_frames(std::uint64_t from, std::uint64_t to,
                        const std::vector<std::string>& names) {
  std::string frames;
  for (std::uint64_t seq = from; seq < to; ++seq) {
    std::string payload = "\xA5";
    append_text(payload, "type");
    append_text(payload, "scalars");
    append_text(payload, "seq");
    append_number(payload, seq, '\x1B');
    append_text(payload, "time");
    append_number(payload, static_cast<std::uint64_t>(kNow) + seq * 2137, '\x1B');
    append_text(payload, "step");
    append_number(payload, seq, '\x1B');
    append_text(payload, "body");
    payload += static_cast<char>(0xA0 + names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      const double value = 1.0 / (1.0 + static_cast<double>(seq)) +
                           0.01 * std::sin(static_cast<double>(seq * 7919 + i));
      append_text(payload, names[i]);
      append_number(payload, std::bit_cast<std::uint64_t>(value), '\xFB');
    }
    const auto length = static_cast<std::uint32_t>(payload.size());
    std::string head(8, '\0');
    std::memcpy(head.data(), &length, 4);
    const std::uint32_t sum =
        crc32c(as_bytes(payload), crc32c(as_bytes(std::string_view(head).substr(0, 4))));
    std::memcpy(head.data() + 4, &sum, 4);
    frames += head + payload;
  }
  return frames;
}

template <typename T>
T value_of(Result<T> result) {
  if (!result) {
    std::exit(report(result.error()));
  }
  return std::move(*result);
}

double median_ms(const std::function<void()>& work) {
  std::vector<double> times;
  for (int i = 0; i < 9; ++i) {
    const Stopwatch watch;
    work();
    times.push_back(watch.seconds() * 1e3);
  }
  std::ranges::nth_element(times, times.begin() + 4);
  return times[4];
}

void print(const std::string& what, const std::string& value) {
  fmt::print("| {:<56} | {:>16} |\n", what, value);
  std::fflush(stdout);
}

double cpu_seconds() {
  timespec time = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// One core for all threads: what the writer and its caller cost together.
void use_one_core(bool is_on) {
  static cpu_set_t all = [] {
    cpu_set_t set;
    ::sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &all)) {
      CPU_SET(i, &one);
      break;
    }
  }
  ::sched_setaffinity(0, sizeof one, is_on ? &one : &all);
}

void measure_ingest(const std::string& folder, std::size_t name_count, std::uint64_t batch) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < name_count; ++i) {
    names.push_back(fmt::format("train/metric_{}", i));
  }
  constexpr std::uint64_t kRecords = 400'000;
  std::vector<std::string> pieces;
  for (std::uint64_t seq = 0; seq < kRecords; seq += batch) {
    pieces.push_back(make_frames(seq, std::min(seq + batch, kRecords), names));
  }
  use_one_core(true);
  const auto place = value_of(Store::open(folder, kNow));
  const RunKey key{"bench", "log"};
  const Stopwatch watch;
  const double cpu_before_s = cpu_seconds();
  std::uint64_t seq = 0;
  for (std::string& piece : pieces) {
    seq = value_of(place->ingest({key, "a1-r0", seq, std::move(piece)}, kNow)).state.next_seq;
  }
  const auto values = static_cast<double>(kRecords * name_count);
  const double wall_s = watch.seconds();
  const double cpu_s = cpu_seconds() - cpu_before_s;
  use_one_core(false);
  print(fmt::format("values/s from logs, {} a record, {} records a commit", name_count, batch),
        fmt::format("{:.0f}", values / wall_s));
  print("    of CPU time, on a machine with other work", fmt::format("{:.0f}", values / cpu_s));
}

void fill(Store& place, int count, bool is_finished) {
  constexpr int kThreads = 16;  // they share commits
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&place, thread, count, is_finished] {
      for (int i = thread; i < count; i += kThreads) {
        RunPatch patch{.created_us = kNow + i};
        patch.tags = {{i % 10 == 0 ? "paper" : "other"}};
        for (int k = 0; k < 40; ++k) {
          patch.config["section"][fmt::format("key{}", k)] = k;
        }
        patch.config["optimizer"] = {{"lr", 0.001 * (i % 100)}, {"name", i % 3 ? "adam" : "sgd"}};
        const RunKey key{"bench", fmt::format("run-{}", i)};
        value_of(place.put_run(key, patch, kNow));
        std::vector<store::LogPoint> points;
        for (int k = 0; k < 10; ++k) {
          points.push_back({fmt::format("val/metric_{}", k), 1, std::sin(i * 10 + k)});
        }
        value_of(place.log(key, std::move(points), kNow));
        if (is_finished) {
          value_of(place.patch_run(key, {.state = store::RunState::Finished}, kNow));
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

void measure_search(const std::string& folder, int count) {
  auto place = value_of(Store::open(folder, kNow));
  const Stopwatch filling;
  fill(*place, count, true);
  print(fmt::format("{} runs made, 3 changes each: changes/s", count),
        fmt::format("{:.0f}", 3 * count / filling.seconds()));
  place.reset();
  const Stopwatch opening;
  place = value_of(Store::open(folder, kNow));
  print(fmt::format("{} runs: open the store", count), fmt::format("{:.2f} s", opening.seconds()));
  store::Search search{
      .projects = {"bench"},
      .filter = "val/metric_3 > 0.2 and config.optimizer.lr in [0.01, 0.05] or tag = \"paper\"",
      .order = {"-summary.val/metric_5", "created"},
      .limit = 100};
  search.fields = {{"config.optimizer.lr", "summary.val/metric_5"}};
  print(fmt::format("{} runs: search by filter and order", count),
        fmt::format("{:.1f} ms", median_ms([&] { value_of(place->search(search, kNow)); })));
  print(fmt::format("{} runs: the newest 100, whole", count),
        fmt::format("{:.1f} ms", median_ms([&] { value_of(place->search({}, kNow)); })));
}

void measure_start(const std::string& folder, int count, bool is_finished) {
  const std::string words = fmt::format("{} {} runs", count, is_finished ? "finished" : "running");
  if (!std::filesystem::exists(folder)) {
    fill(*value_of(Store::open(folder, kNow)), count, is_finished);
  }
  const Stopwatch opening;
  const double cpu_before_s = cpu_seconds();
  const auto place = value_of(Store::open(folder, kNow));
  print(words + ": open the store", fmt::format("{:.2f} s", opening.seconds()));
  print("    CPU time of its two threads", fmt::format("{:.2f} s", cpu_seconds() - cpu_before_s));
  const Stopwatch first;
  const RunKey key{"bench", fmt::format("run-{}", count / 2)};
  value_of(place->log(key, {{"val/metric_3", 2, 0.5}}, kNow));
  print(words + ": the first value of one", fmt::format("{:.1f} ms", first.seconds() * 1e3));
}

void measure_chart(const std::string& folder) {
  const auto place = value_of(Store::open(folder, kNow));
  const RunKey key{"bench", "long"};
  constexpr std::uint64_t kPoints = 1'000'000;
  for (std::uint64_t seq = 0; seq < kPoints; seq += 50'000) {
    value_of(place->ingest({key, "a1-r0", seq, make_frames(seq, seq + 50'000, {"loss"})}, kNow));
  }
  store::SeriesRequest request{.run = key, .key = "loss"};
  const auto time = [&](const std::string& what) {
    print("1,000,000 points: " + what,
          fmt::format("{:.1f} ms", median_ms([&] { value_of(place->read_series(request)); })));
  };
  time("chart of all, by step");
  request.x = "relative";
  time("chart of all, by time");
  request.x = "step";
  request.from = 100'000;
  request.to = 150'000;
  time("chart of 50,000 of them");
  request = {.run = key, .key = "loss", .points = 0};
  time("every point");
}

}  // namespace
}  // namespace kedge

int main(int argc, char** argv) {
  std::string folder = argc > 1 ? argv[1] : "/tmp/kedge-bench-store-XXXXXX";
  if (argc == 1 && ::mkdtemp(folder.data()) == nullptr) {
    return 1;
  }
  const std::string_view only = argc > 2 ? argv[2] : "";
  kedge::print("store on " + folder.substr(0, 40), "");
  if (only.empty() || only == "start") {
    kedge::measure_start(folder + "/running", 100'000, false);
    kedge::measure_start(folder + "/finished", 100'000, true);
  }
  if (only == "start") {
    return 0;
  }
  kedge::measure_ingest(folder + "/ingest1", 10, 10'000);
  kedge::measure_ingest(folder + "/ingest2", 10, 100);
  kedge::measure_ingest(folder + "/ingest3", 1, 10'000);
  if (only == "logs") {
    return 0;
  }
  kedge::measure_chart(folder + "/chart");
  kedge::measure_search(folder + "/search1", 10'000);
  kedge::measure_search(folder + "/search2", 100'000);
  std::filesystem::remove_all(folder);
  return 0;
}
