// How a task of a job is: its state, where and when it ran, what it asked for and what it used.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"

namespace kedge::jobs {

enum class TaskState : std::uint8_t {
  Waiting,    // in the queue, also between two runs
  Held,       // in the queue until somebody lets it go
  Running,    //
  Done,       // ended with 0
  Failed,     // ended with another code, also 85 when nobody ran it again
  TimedOut,   // the scheduler ended it at its limit
  Cancelled,  // by a person
  Lost,       // nobody knows it any more
};

std::string_view name_of(TaskState state);
std::optional<TaskState> parse_task_state(std::string_view name);

inline bool is_final(TaskState state) {
  return state >= TaskState::Done;
}

// Of the last run. What the scheduler does not measure is empty.
struct Usage {
  std::optional<double> elapsed_s = {};
  std::optional<double> cpu_s = {};
  std::optional<std::uint64_t> memory_bytes = {};  // the most at one moment, of one machine
  std::optional<std::uint64_t> disk_bytes = {};
  std::int64_t cpus = 0;  // given, over all machines
  std::int64_t gpus = 0;
  std::uint64_t memory_limit_bytes = 0;  // given, per machine
  std::uint64_t disk_limit_bytes = 0;
  double time_limit_s = 0;
};

struct TaskStatus {
  std::int64_t task = 0;
  TaskState state = TaskState::Waiting;
  std::string id = {};      // the scheduler's name for the task: "12_3"
  std::string reason = {};  // why it waits, failed, was ended
  std::optional<int> exit_code = {};
  std::string node = {};
  std::int64_t submitted_s = 0;  // Unix seconds; 0: not known
  std::int64_t started_s = 0;
  std::int64_t ended_s = 0;
  std::int64_t restarts = 0;
  Usage usage = {};
};

nlohmann::json to_json(const TaskStatus& status);
TaskStatus status_from_json(const nlohmann::json& json);

}  // namespace kedge::jobs
