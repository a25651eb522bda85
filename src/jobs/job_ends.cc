#include "jobs/job_ends.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/result.h"

namespace kedge::jobs {
namespace {

TaskState state_after(int exit_code) {
  return exit_code == kExitDone ? TaskState::Done : TaskState::Failed;
}

TaskStatus refused_status(const JobRecord& record, std::int64_t task) {
  TaskStatus status{.task = task, .state = TaskState::Failed, .reason = "not submitted"};
  // Of an array in several parts those behind a refused one were not submitted at all.
  if (!record.submissions.empty() && !record.last().message.empty()) {
    status.reason = "refused: " + record.last().message;
  }
  if (!record.submissions.empty()) {
    status.submitted_s = record.last().prepared_s;
  }
  return status;
}

// Of a task that the scheduler says nothing about.
TaskStatus status_from_folder(const JobRecord& record, const Submission& submission,
                              std::int64_t task, bool is_asked) {
  std::optional<TaskStatus> noted = read_job_ends(record.folder, task, submission.number);
  TaskStatus status = noted.value_or(TaskStatus{});
  status.task = task;
  status.submitted_s = submission.prepared_s;
  if (noted && is_final(noted->state)) {
    return status;
  }
  if (record.is_cancelled) {
    status.state = TaskState::Cancelled;
  } else if (is_asked && submission.state == SubmitState::Submitted) {
    status.state = TaskState::Lost;
    status.reason = noted ? "it started, and the scheduler no longer knows it"
                          : "the scheduler does not know it";
  } else if (submission.state == SubmitState::Prepared) {
    status.reason = "being submitted";
  }
  return status;
}

}  // namespace

std::optional<TaskStatus> parse_job_ends(std::string_view text, std::int64_t submission) {
  std::istringstream lines{std::string(text)};
  std::optional<TaskStatus> status;
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string what;
    std::int64_t number = 0;
    std::int64_t time_s = 0;
    // A line that a crash cut short says nothing.
    if (!(words >> what >> number >> time_s) || number != submission) {
      continue;
    }
    if (what == "start") {
      const std::int64_t restarts = status ? status->restarts + 1 : 0;
      status = TaskStatus{.state = TaskState::Running, .started_s = time_s, .restarts = restarts};
      words >> status->node >> status->id;
    } else if (int exit_code = 0; what == "end" && status && words >> exit_code) {
      status->state = state_after(exit_code);
      status->exit_code = exit_code;
      status->ended_s = time_s;
      status->usage.elapsed_s = static_cast<double>(time_s - status->started_s);
    }
  }
  return status;
}

std::optional<TaskStatus> read_job_ends(const Path& folder, std::int64_t task,
                                        std::int64_t submission) {
  const auto text = read_file(folder / "ends" / std::to_string(task));
  return text ? parse_job_ends(*text, submission) : std::nullopt;
}

std::vector<std::string> read_job_ids(const Path& folder, std::int64_t task,
                                      std::int64_t submission) {
  std::istringstream lines{read_file(folder / "ends" / std::to_string(task)).value_or("")};
  std::vector<std::string> ids;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what;
    std::int64_t number = 0;
    std::int64_t time_s = 0;
    std::string host;
    std::string id;
    if (words >> what >> number >> time_s >> host >> id && what == "start" &&
        number == submission) {
      ids.push_back(id.substr(0, id.find('_')));
    }
  }
  return ids;
}

std::vector<TaskStatus> complete_statuses(const JobRecord& record, std::vector<TaskStatus> seen,
                                          bool is_asked) {
  std::vector<TaskStatus> all;
  for (std::int64_t task = 0; task < record.spec.task_count(); ++task) {
    const Submission* submission = record.responsible(task);
    const auto known = std::ranges::find(seen, task, &TaskStatus::task);
    const auto ended = std::ranges::find(record.ended, task, &TaskStatus::task);
    if (ended != record.ended.end()) {
      all.push_back(*ended);
    } else if (submission == nullptr) {
      all.push_back(refused_status(record, task));
    } else if (known != seen.end()) {
      all.push_back(std::move(*known));
    } else {
      all.push_back(status_from_folder(record, *submission, task, is_asked));
    }
  }
  return all;
}

}  // namespace kedge::jobs
