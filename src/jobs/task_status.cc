#include "jobs/task_status.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

namespace kedge::jobs {
namespace {

constexpr auto kNames = std::to_array<std::string_view>(
    {"waiting", "held", "running", "done", "failed", "timed out", "cancelled", "lost"});

template <typename T>
void put(nlohmann::json& json, const char* name, const std::optional<T>& value) {
  if (value) {
    json[name] = *value;
  }
}

template <typename T>
std::optional<T> take(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  return found == json.end() || !found->is_number() ? std::nullopt : std::optional(found->get<T>());
}

nlohmann::json usage_json(const Usage& usage) {
  nlohmann::json json = {{"cpus", usage.cpus},
                         {"gpus", usage.gpus},
                         {"memory_limit_bytes", usage.memory_limit_bytes},
                         {"disk_limit_bytes", usage.disk_limit_bytes},
                         {"time_limit_s", usage.time_limit_s}};
  put(json, "elapsed_s", usage.elapsed_s);
  put(json, "cpu_s", usage.cpu_s);
  put(json, "memory_bytes", usage.memory_bytes);
  put(json, "disk_bytes", usage.disk_bytes);
  return json;
}

Usage usage_from_json(const nlohmann::json& json) {
  return {.elapsed_s = take<double>(json, "elapsed_s"),
          .cpu_s = take<double>(json, "cpu_s"),
          .memory_bytes = take<std::uint64_t>(json, "memory_bytes"),
          .disk_bytes = take<std::uint64_t>(json, "disk_bytes"),
          .cpus = take<std::int64_t>(json, "cpus").value_or(0),
          .gpus = take<std::int64_t>(json, "gpus").value_or(0),
          .memory_limit_bytes = take<std::uint64_t>(json, "memory_limit_bytes").value_or(0),
          .disk_limit_bytes = take<std::uint64_t>(json, "disk_limit_bytes").value_or(0),
          .time_limit_s = take<double>(json, "time_limit_s").value_or(0)};
}

}  // namespace

std::string_view name_of(TaskState state) {
  return kNames[static_cast<std::size_t>(state)];
}

std::optional<TaskState> parse_task_state(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  return found == kNames.end() ? std::nullopt
                               : std::optional(static_cast<TaskState>(found - kNames.begin()));
}

nlohmann::json to_json(const TaskStatus& status) {
  nlohmann::json json = {{"task", status.task},
                         {"state", name_of(status.state)},
                         {"id", status.id},
                         {"reason", status.reason},
                         {"node", status.node},
                         {"submitted_s", status.submitted_s},
                         {"started_s", status.started_s},
                         {"ended_s", status.ended_s},
                         {"restarts", status.restarts},
                         {"usage", usage_json(status.usage)}};
  put(json, "exit_code", status.exit_code);
  return json;
}

TaskStatus status_from_json(const nlohmann::json& json) {
  const auto text = [&](const char* name) { return json.value(name, std::string()); };
  const auto number = [&](const char* name) { return json.value(name, std::int64_t{0}); };
  return {.task = number("task"),
          .state = parse_task_state(text("state")).value_or(TaskState::Lost),
          .id = text("id"),
          .reason = text("reason"),
          .exit_code = take<int>(json, "exit_code"),
          .node = text("node"),
          .submitted_s = number("submitted_s"),
          .started_s = number("started_s"),
          .ended_s = number("ended_s"),
          .restarts = number("restarts"),
          .usage = usage_from_json(json.value("usage", nlohmann::json::object()))};
}

}  // namespace kedge::jobs
