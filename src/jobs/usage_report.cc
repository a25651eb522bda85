#include "jobs/usage_report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "core/units.h"

namespace kedge::jobs {
namespace {

// Room above what was seen: the next run is never quite the same.
constexpr double kMemoryRoom = 1.25;
constexpr double kTimeRoom = 1.5;
// Below this fraction of what was asked for it is worth changing.
constexpr double kLowFraction = 0.5;
constexpr double kHighFraction = 0.9;
constexpr double kLeastTime_s = 600;  // schedulers plan in minutes; shorter limits gain nothing

struct Most {
  double elapsed_s = 0;
  double cores = 0;  // busy on average, of the busiest task
  std::uint64_t memory_bytes = 0;
};

Most find_most(const std::vector<TaskStatus>& tasks) {
  Most most;
  for (const TaskStatus& task : tasks) {
    if (task.state != TaskState::Done) {
      continue;
    }
    const double elapsed_s = task.usage.elapsed_s.value_or(0);
    most.elapsed_s = std::max(most.elapsed_s, elapsed_s);
    most.memory_bytes = std::max(most.memory_bytes, task.usage.memory_bytes.value_or(0));
    if (elapsed_s >= 1) {
      most.cores = std::max(most.cores, task.usage.cpu_s.value_or(0) / elapsed_s);
    }
  }
  return most;
}

std::string in_megabytes(double bytes) {
  return fmt::format("{}MB", static_cast<std::int64_t>(std::ceil(bytes / 1e8) * 100));
}

}  // namespace

Efficiency efficiency_of(const Usage& usage) {
  Efficiency efficiency;
  const double elapsed_s = usage.elapsed_s.value_or(0);
  if (usage.cpu_s && usage.cpus > 0 && elapsed_s > 0) {
    efficiency.cpu = *usage.cpu_s / (elapsed_s * static_cast<double>(usage.cpus));
  }
  if (usage.memory_bytes && usage.memory_limit_bytes > 0) {
    efficiency.memory =
        static_cast<double>(*usage.memory_bytes) / static_cast<double>(usage.memory_limit_bytes);
  }
  if (usage.elapsed_s && usage.time_limit_s > 0) {
    efficiency.time = elapsed_s / usage.time_limit_s;
  }
  return efficiency;
}

std::vector<std::string> suggest_requests(const config::JobConfig& wants,
                                          const std::vector<TaskStatus>& tasks) {
  std::vector<std::string> lines;
  const Most most = find_most(tasks);
  const auto memory = static_cast<double>(most.memory_bytes);
  const double fraction =
      memory / static_cast<double>(std::max<std::uint64_t>(wants.memory.value, 1));
  if (most.memory_bytes > 0 && (fraction < kLowFraction || fraction > kHighFraction)) {
    lines.push_back(fmt::format("job.memory: {} asked for, {} used at most: job.memory={}",
                                render_bytes(wants.memory), render_bytes({most.memory_bytes}),
                                in_megabytes(memory * kMemoryRoom)));
  }
  const auto cores = static_cast<double>(wants.cpus * wants.ranks * wants.nodes);
  if (most.cores > 0 && cores > 1 && most.cores < kLowFraction * cores) {
    const auto per_rank = static_cast<std::int64_t>(
        std::ceil(most.cores / static_cast<double>(wants.ranks * wants.nodes)));
    lines.push_back(fmt::format("job.cpus: {} cores held, {:.1f} busy: job.cpus={}", cores,
                                most.cores, std::max<std::int64_t>(per_rank, 1)));
  }
  const double time_s = std::max(most.elapsed_s * kTimeRoom, kLeastTime_s);
  if (most.elapsed_s > 0 && time_s < kLowFraction * wants.time.value) {
    lines.push_back(
        fmt::format("job.time: {} asked for, {} used: job.time={}m, and shorter jobs "
                    "start sooner",
                    render_seconds(wants.time), render_seconds({most.elapsed_s}),
                    static_cast<std::int64_t>(std::ceil(time_s / 60))));
  } else if (most.elapsed_s > kHighFraction * wants.time.value && wants.time.value > 0) {
    lines.push_back(fmt::format("job.time: {} of {} used: job.time={}m",
                                render_seconds({most.elapsed_s}), render_seconds(wants.time),
                                static_cast<std::int64_t>(std::ceil(time_s / 60))));
  }
  return lines;
}

}  // namespace kedge::jobs
