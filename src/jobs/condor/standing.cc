#include "jobs/condor/standing.h"

#include <chrono>
#include <cmath>
#include <string>

#include <fmt/format.h>

namespace kedge::jobs::condor {
namespace {

std::int64_t unix_seconds(const std::optional<SystemTime>& time) {
  return time ? std::chrono::duration_cast<std::chrono::seconds>(time->time_since_epoch()).count()
              : 0;
}

// Rows of the log's table, which are rounded to whole units.
const ResourceUse* find_row(const JobStory& story, const char* name) {
  const auto found = story.resources.find(name);
  return found == story.resources.end() ? nullptr : &found->second;
}

std::optional<std::uint64_t> scaled(const std::optional<double>& value, double unit) {
  return value && *value > 0 ? std::optional(static_cast<std::uint64_t>(*value * unit))
                             : std::nullopt;
}

std::uint64_t limit(const ResourceUse& row, double unit) {
  return scaled(row.requested ? row.requested : row.allocated, unit).value_or(0);
}

void add_usage(TaskStatus& status, const JobStory& story) {
  constexpr double kKb = 1024;
  constexpr double kMb = 1024 * 1024;
  Usage& usage = status.usage;
  if (const ResourceUse* memory = find_row(story, "Memory (MB)")) {
    usage.memory_bytes = scaled(memory->used, kMb);
    usage.memory_limit_bytes = limit(*memory, kMb);
  }
  if (const ResourceUse* disk = find_row(story, "Disk (KB)")) {
    usage.disk_bytes = scaled(disk->used, kKb);
    usage.disk_limit_bytes = limit(*disk, kKb);
  }
  if (const ResourceUse* cpus = find_row(story, "Cpus")) {
    usage.cpus = static_cast<std::int64_t>(cpus->allocated.value_or(0));
  }
  if (const ResourceUse* gpus = find_row(story, "GPUs")) {
    usage.gpus = static_cast<std::int64_t>(gpus->allocated.value_or(0));
  }
  if (story.executing_s > 0) {
    usage.elapsed_s = story.executing_s;
  }
  usage.cpu_s = story.cpu_s;
}

void add_usage(TaskStatus& status, const JobAd& ad) {
  Usage& usage = status.usage;
  const auto keep_larger = [](std::optional<std::uint64_t>& kept, std::int64_t kilobytes) {
    const auto seen = static_cast<std::uint64_t>(kilobytes) * 1024;
    if (seen > kept.value_or(0)) {
      kept = seen;
    }
  };
  keep_larger(usage.memory_bytes, ad.memory_used_kb);
  keep_larger(usage.disk_bytes, ad.disk_used_kb);
  usage.cpus = ad.cpus;
  usage.gpus = ad.gpus;
  usage.memory_limit_bytes = static_cast<std::uint64_t>(ad.memory_request_mb) << 20U;
  usage.disk_limit_bytes = static_cast<std::uint64_t>(ad.disk_request_kb) << 10U;
  usage.cpu_s = std::max(usage.cpu_s.value_or(0), ad.cpu_s);
}

TaskState state_in_queue(JobStatus status) {
  switch (status) {
    case JobStatus::Running:
    case JobStatus::TransferringOutput:
    case JobStatus::Suspended:
      return TaskState::Running;
    case JobStatus::Held:
      return TaskState::Held;
    case JobStatus::Removed:
      return TaskState::Cancelled;
    default:
      return TaskState::Waiting;
  }
}

void add_end(TaskStatus& status, const JobStory& story) {
  status.ended_s = unix_seconds(story.ended);
  if (story.exit_code) {
    status.exit_code = story.exit_code;
    status.state = *story.exit_code == kExitDone ? TaskState::Done : TaskState::Failed;
  } else if (story.signal) {
    status.exit_code = 128 + *story.signal;
    status.state = TaskState::Failed;
    status.reason = fmt::format("signal {}", *story.signal);
  } else if (story.is_removed) {
    status.state = story.is_over_limit ? TaskState::TimedOut : TaskState::Cancelled;
    status.reason = story.reason;
  }
}

}  // namespace

std::optional<TaskStatus> status_of(const JobStory& story, const std::optional<JobAd>& ad) {
  if (!story.submitted && !ad) {
    return std::nullopt;
  }
  TaskStatus status;
  status.submitted_s = ad ? ad->queued_s : unix_seconds(story.submitted);
  status.started_s = ad && ad->started_s > 0 ? ad->started_s : unix_seconds(story.first_start);
  status.restarts = std::max<std::int64_t>(0, story.starts - 1);
  status.node = story.host;
  add_usage(status, story);
  if (story.is_over()) {
    add_end(status, story);
    return status;
  }
  if (!ad) {
    status.state = story.is_held      ? TaskState::Held
                   : story.is_running ? TaskState::Running
                                      : TaskState::Waiting;
    status.reason = story.is_running ? "" : story.reason;
    return status;
  }
  add_usage(status, *ad);
  status.state = state_in_queue(ad->status);
  // What a machine said that could not run it tells more than that it waits for another.
  status.reason =
      status.state == TaskState::Waiting && !story.reason.empty() ? story.reason : ad->reason;
  if (status.state == TaskState::Held) {
    status.reason += fmt::format("; condor_release {} lets it try again", render_job_id(ad->id));
  }
  if (!ad->host.empty()) {
    status.node = ad->host;
  }
  return status;
}

}  // namespace kedge::jobs::condor
