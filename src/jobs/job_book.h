// The job book: a folder (jobs/, beside runs/) with a folder per job, and in it one small JSON file
// that is written before and after the scheduler is called. A submit that dies half way leaves a
// record that is Prepared; settle() finds out what became of it. docs/formats/job-book.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/file.h"
#include "core/result.h"
#include "jobs/job_spec.h"
#include "jobs/task_status.h"

namespace kedge::jobs {

enum class SubmitState : std::uint8_t {
  Prepared,   // the scheduler may have been called
  Submitted,  // it answered with an id
  Refused,    // it said no; `message` is why
};

std::string_view name_of(SubmitState state);

// One call of the scheduler for a job; a retry is another one.
struct Submission {
  std::int64_t number = 1;
  SubmitState state = SubmitState::Prepared;
  std::vector<std::int64_t> tasks = {};  // those of an array that it runs; empty: all
  std::string id = {};                   // the scheduler's
  std::int64_t prepared_s = 0;           // Unix seconds, before the scheduler was called
  std::string message = {};
  std::string output = {};   // Rendering::output
  std::int64_t offset = 0;   // the scheduler's index of a task is the task's number less this
  std::int64_t part_of = 0;  // the first submission of an array that was too large for one; 0: none
};

struct JobRecord {
  std::string key;
  std::string launcher;
  JobSpec spec;
  std::string host;  // that submitted it
  std::vector<Submission> submissions = {};
  bool is_cancelled = false;           // somebody wants no task of it to run again
  std::vector<TaskStatus> ended = {};  // final statuses, once seen, by task
  Path folder = {};                    // absolute; not in the file

  // "kedge:<key>/<n>": what a submission is called towards the scheduler.
  std::string mark(std::int64_t submission) const;

  std::string mark() const { return mark(last().number); }

  const Submission& last() const { return submissions.back(); }

  // The submission that a task's state is to be asked of: the last one that includes the task and
  // was not refused; null when there is none.
  const Submission* responsible(std::int64_t task) const;
};

nlohmann::json to_json(const JobRecord& record);
Result<JobRecord> record_from_json(const nlohmann::json& json, const Path& folder);

class JobBook {
 public:
  // The folder is made with the first job.
  explicit JobBook(Path dir);

  const Path& dir() const { return dir_; }

  // A folder and a key that nobody has, with the record in it; no submission yet.
  Result<JobRecord> add(const JobSpec& spec, std::string_view launcher) const;

  Result<void> write(const JobRecord& record) const;
  Result<JobRecord> read(const std::string& key) const;

  // The newest first. Folders that cannot be read are told on stderr and left out.
  std::vector<JobRecord> read_all() const;

  // By key, the beginning of one, the scheduler's id, or a name (then the newest of that name).
  Result<JobRecord> find(const std::string& word) const;

  // Marks the job, in the record and as a file `cancelled` in its folder, which the job itself
  // looks at before it runs again.
  Result<void> mark_cancelled(JobRecord& record) const;

 private:
  Path dir_;
};

// Held while a submission is under way, by this process and by the programs of the scheduler that
// it starts; freed by the kernel when all of them have ended.
class SubmitLock {
 public:
  // Nothing: other live processes submit this job right now.
  static Result<std::optional<SubmitLock>> take(const Path& folder);

 private:
  explicit SubmitLock(OwnedFd fd) : fd_(std::move(fd)) {}

  OwnedFd fd_;
};

}  // namespace kedge::jobs
