#include "jobs/slurm/queue.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "jobs/internal/time_text.h"
#include "jobs/slurm/columns.h"
#include "jobs/slurm/directives.h"

namespace kedge::jobs::slurm {
namespace {

using Json = nlohmann::json;

// Slurm's "no value" and "infinite" of 32 bits are the last two numbers.
constexpr std::int64_t kNoValue = 0xfffffffe;

// A number, or since 23.02 {"set": true, "infinite": false, "number": 5}.
std::optional<std::int64_t> number_in(const Json& job, const char* name) {
  const auto found = job.find(name);
  if (found == job.end()) {
    return std::nullopt;
  }
  if (found->is_number_integer()) {
    return found->get<std::int64_t>();
  }
  if (found->is_object() && found->value("set", false) && found->contains("number") &&
      found->at("number").is_number_integer()) {
    return found->at("number").get<std::int64_t>();
  }
  return std::nullopt;
}

std::string text_in(const Json& job, const char* name) {
  const auto found = job.find(name);
  if (found == job.end()) {
    return {};
  }
  // Since 23.02 states are lists: ["CANCELLED", "COMPLETING"].
  if (found->is_array()) {
    return found->empty() || !found->front().is_string() ? "" : found->front().get<std::string>();
  }
  return found->is_string() ? found->get<std::string>() : "";
}

// wait()'s status, or since 23.02 an object.
std::optional<int> exit_code_in(const Json& job) {
  const auto found = job.find("exit_code");
  if (found == job.end()) {
    return std::nullopt;
  }
  if (found->is_number_integer()) {
    const auto status = found->get<std::int64_t>();
    return static_cast<int>((status & 0x7f) != 0 ? 128 + (status & 0x7f) : (status >> 8) & 0xff);
  }
  if (!found->is_object()) {
    return std::nullopt;
  }
  const Json signal = found->value("signal", Json::object());
  if (const auto id = number_in(signal.is_object() ? signal : Json::object(), "id");
      id.value_or(0) > 0) {
    return static_cast<int>(128 + *id);
  }
  const auto code = number_in(*found, "return_code");
  return code ? std::optional(static_cast<int>(*code)) : std::nullopt;
}

void finish_status(QueuedJob& job) {
  TaskStatus& status = job.status;
  if (status.reason == "None") {
    status.reason.clear();
  }
  // While it waits or runs these are plans: when it may start, when its limit ends it.
  if (!is_final(status.state)) {
    status.ended_s = 0;
    status.exit_code.reset();
  }
  if (status.state == TaskState::Waiting || status.state == TaskState::Held) {
    status.started_s = 0;
  }
  if (status.started_s > 0 && status.ended_s >= status.started_s) {
    status.usage.elapsed_s = static_cast<double>(status.ended_s - status.started_s);
  }
}

QueuedJob job_from(const Json& json) {
  QueuedJob job;
  const std::int64_t array = number_in(json, "array_job_id").value_or(0);
  const std::int64_t id = number_in(json, "job_id").value_or(0);
  job.id = std::to_string(array > 0 ? array : id);
  if (const auto task = number_in(json, "array_task_id"); array > 0 && task && *task < kNoValue) {
    job.tasks = {*task};
  } else if (array > 0) {
    job.tasks = parse_task_list(text_in(json, "array_task_string"));
  }
  job.mark = mark_in(text_in(json, "comment"));
  job.name = text_in(json, "name");
  job.user = text_in(json, "user_name");
  job.status = {.state = state_of(text_in(json, "job_state")),
                .reason = text_in(json, "state_reason"),
                .exit_code = exit_code_in(json),
                .node = text_in(json, "nodes"),
                .submitted_s = number_in(json, "submit_time").value_or(0),
                .started_s = number_in(json, "start_time").value_or(0),
                .ended_s = number_in(json, "end_time").value_or(0),
                .restarts = number_in(json, "restart_cnt").value_or(0)};
  if (job.status.state == TaskState::Waiting && job.status.reason.starts_with("JobHeld")) {
    job.status.state = TaskState::Held;
  }
  if (job.status.reason == "JobHeldUser") {
    job.status.reason += "; scontrol release lets it start";
  }
  finish_status(job);
  return job;
}

std::int64_t time_in(const std::string& text) {
  const auto time = parse_utc(text);
  return time ? std::chrono::duration_cast<std::chrono::seconds>(time->time_since_epoch()).count()
              : 0;
}

}  // namespace

TaskState state_of(std::string_view slurm_state) {
  constexpr auto kStates = std::to_array<std::pair<std::string_view, TaskState>>({
      {"PENDING", TaskState::Waiting},     {"CONFIGURING", TaskState::Waiting},
      {"REQUEUED", TaskState::Waiting},    {"REQUEUE_HOLD", TaskState::Held},
      {"SPECIAL_EXIT", TaskState::Held},   {"RESV_DEL_HOLD", TaskState::Held},
      {"RUNNING", TaskState::Running},     {"COMPLETING", TaskState::Running},
      {"SUSPENDED", TaskState::Running},   {"STOPPED", TaskState::Running},
      {"SIGNALING", TaskState::Running},   {"STAGE_OUT", TaskState::Running},
      {"RESIZING", TaskState::Running},    {"COMPLETED", TaskState::Done},
      {"CANCELLED", TaskState::Cancelled}, {"REVOKED", TaskState::Cancelled},
      {"TIMEOUT", TaskState::TimedOut},    {"DEADLINE", TaskState::TimedOut},
      {"FAILED", TaskState::Failed},       {"NODE_FAIL", TaskState::Failed},
      {"BOOT_FAIL", TaskState::Failed},    {"OUT_OF_MEMORY", TaskState::Failed},
      {"PREEMPTED", TaskState::Failed},    {"LAUNCH_FAILED", TaskState::Failed},
  });
  // sacct says "CANCELLED by 1000".
  const std::string_view word = slurm_state.substr(0, slurm_state.find(' '));
  const auto found =
      std::ranges::find(kStates, word, &std::pair<std::string_view, TaskState>::first);
  return found == kStates.end() ? TaskState::Running : found->second;
}

std::vector<std::int64_t> parse_task_list(std::string_view text) {
  text = text.substr(0, text.find('%'));
  std::vector<std::int64_t> tasks;
  for (const std::string& part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    std::string_view last = std::string_view(part).substr(dash == std::string::npos ? 0 : dash + 1);
    std::int64_t step = 1;
    if (const std::size_t colon = last.find(':'); colon != std::string_view::npos) {
      step =
          std::max<std::int64_t>(parse_number<std::int64_t>(last.substr(colon + 1)).value_or(1), 1);
      last = last.substr(0, colon);
    }
    const auto from = parse_number<std::int64_t>(std::string_view(part).substr(0, dash));
    const auto to = parse_number<std::int64_t>(last);
    if (!from || !to || *to - *from > 10'000'000) {
      break;
    }
    for (std::int64_t task = *from; task <= *to; task += step) {
      tasks.push_back(task);
    }
  }
  return tasks;
}

Result<std::vector<QueuedJob>> parse_queue_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("jobs") || !json.at("jobs").is_array()) {
    return fail(ErrorKind::Corrupt, "squeue --json printed no list of jobs");
  }
  // 22.05 answers for a controller that is away with no jobs, an error in the list, and exit code
  // 0.
  if (json.contains("errors") && !json.at("errors").empty()) {
    return fail(ErrorKind::Corrupt, "squeue --json printed errors: " + json.at("errors").dump());
  }
  std::vector<QueuedJob> jobs;
  const Json& list = json.at("jobs");
  for (const Json& entry : list) {
    if (entry.is_object()) {
      jobs.push_back(job_from(entry));
    }
  }
  return jobs;
}

std::vector<std::string> queue_columns() {
  // Array job, task or list of tasks, state, reason, node, times, name, comment last: it may hold
  // anything.
  return {"-h", "-t", "all", "-o", "%F|%K|%T|%r|%N|%V|%S|%e|%u|%j|%k"};
}

std::vector<QueuedJob> parse_queue_text(std::string_view text) {
  constexpr std::size_t kColumns = 11;
  std::vector<QueuedJob> jobs;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> parts = split(line, '|');
    if (parts.size() < kColumns) {
      continue;
    }
    QueuedJob job{
        .id = parts[0],
        .tasks = parts[1] == "N/A" ? std::vector<std::int64_t>() : parse_task_list(parts[1]),
        .mark = mark_in(parts.back()),
        .name = parts[9],
        .user = parts[8]};
    job.status = {.state = state_of(parts[2]),
                  .reason = parts[3],
                  .node = parts[4],
                  .submitted_s = time_in(parts[5]),
                  .started_s = time_in(parts[6]),
                  .ended_s = time_in(parts[7])};
    finish_status(job);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace kedge::jobs::slurm
