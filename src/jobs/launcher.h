// A Launcher is one kind of scheduler: local processes, Slurm, HTCondor. Launchers are plug-ins: a
// folder with a file that ends in `const Launchers::Add ...`, found by the value of job.scheduler,
// and one that says what the scheduler tells its jobs (core/inside_job.h). What every launcher owes
// is asked of all of them by launcher_conformance_test.cc and, with real daemons,
// tests/jobs/conformance.py.
//
// A launcher keeps nothing: what was submitted is in the job book (job_book.h), which is written
// before and after the scheduler is called. So that a submit that died half way can be looked up,
// a launcher hands `SubmissionPlace::mark` to its scheduler (Slurm: --comment, HTCondor: an
// attribute of the job ad) and find() looks for it. docs/formats/job-book.md is the layout.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/registry.h"
#include "core/result.h"
#include "jobs/dag.h"
#include "jobs/job_book.h"
#include "jobs/job_spec.h"
#include "jobs/site.h"
#include "jobs/task_status.h"

namespace kedge::jobs {

// Where a submission's files are, and what it is called.
struct SubmissionPlace {
  std::string key;
  std::int64_t submission = 1;           // the book's count of calls of the scheduler for this job
  std::vector<std::int64_t> tasks = {};  // those of an array to run; empty: all
  std::int64_t offset = 0;               // Submission::offset
  std::string part_before = {};          // id of the part of the array that must have ended before
  Path folder;                           // absolute: jobs/<key>
  Path kedge;                            // absolute: this program
  std::map<std::string, std::string> ids;  // scheduler's ids of the jobs that spec.after names

  // "kedge:<key>/<submission>"
  std::string mark() const;

  // `folder`/logs
  Path logs() const { return folder / "logs"; }
};

struct RenderedFile {
  std::string name;  // in the job's folder
  std::string text;
  bool is_program = false;
};

// Exactly what would be submitted.
struct Rendering {
  std::vector<RenderedFile> files;
  std::vector<std::string> command;  // that submits them; run in the job's folder
  std::string output;                // pattern of the files that the job prints to, absolute, with
                                     // {task}, {node}, {job} where they stand
  std::vector<std::string> secrets = {};  // names of the variables that it is handed (secrets.h)
  std::vector<std::string> notes = {};    // what the user should know before submitting
};

// One of several jobs that wait for each other by the names of their steps.
struct SetJob {
  std::string step;
  JobRecord record;
  std::vector<DagAfter> after = {};
  std::int64_t retries = 0;
};

// A machine was asked for that is not there, a partition does not exist, ...: Usage. The scheduler
// does not answer: Unavailable; then nobody knows whether the job was taken, and find() tells.
class Launcher {
 public:
  Launcher() = default;
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  virtual ~Launcher() = default;

  virtual std::string_view name() const = 0;

  // Whether this machine belongs to such a scheduler. For job.scheduler auto; quick.
  virtual bool is_here() const = 0;

  // Of those that are here, auto takes the one with the highest. Processes of this machine: 0.
  virtual int priority() const = 0;

  // Whether looking is so cheap that people may be shown what is new at once.
  virtual bool is_quick_to_ask() const { return false; }

  // What the user should know of this scheduler's limits before the job is submitted, from the time
  // that a task is expected to take. Empty: nothing.
  virtual std::string advise_on_queue(const JobSpec& /*spec*/, double /*task_s*/) const {
    return {};
  }

  // Usage where jobs cannot be submitted from this machine. Before anything is made or written.
  virtual Result<void> check_here() const { return {}; }

  // The number that indices of an array's tasks must stay below; 0: any. Asks the scheduler.
  virtual std::int64_t find_array_limit() const { return 0; }

  // Pure: no file is written, no daemon asked.
  virtual Result<Rendering> render(const JobSpec& spec, const SubmissionPlace& place) const = 0;

  // The files are there. Returns the scheduler's id.
  virtual Result<std::string> submit(const Rendering& rendering, const JobRecord& record) const = 0;

  // Whether jobs can wait for each other only when all of them are handed over at once (HTCondor's
  // DAGMan). Their files are there and their records say Prepared; returns the id of the set.
  virtual bool takes_sets() const { return false; }

  virtual Result<std::string> submit_set(std::span<const SetJob> /*jobs*/) const {
    return fail(ErrorKind::Usage, "this scheduler takes no sets of jobs");
  }

  // The id of the submission with this mark, for a record whose submit() nobody saw return.
  // Nothing: the scheduler does not have it, and where it still takes it after this it runs
  // nothing.
  virtual Result<std::optional<std::string>> find(const JobRecord& record) const = 0;

  // What {job} may stand for in Rendering::output, besides the ids that the tasks noted themselves.
  virtual std::vector<std::string> find_ids(const JobRecord& /*record*/,
                                            const Submission& submission) const {
    return {submission.id};
  }

  // By key: all tasks of each job, as far as the scheduler or the job's folder knows. A job that
  // neither knows has no entry. Ids may have been reused: what answers must carry the mark, or the
  // name and a submit time that is not before ours.
  virtual Result<std::map<std::string, std::vector<TaskStatus>>> look(
      std::span<const JobRecord> records) const = 0;

  // `tasks` empty: all. The book has noted the wish before, so that the job does not run itself
  // again.
  virtual Result<void> cancel(const JobRecord& record,
                              std::span<const std::int64_t> tasks) const = 0;

  // The machines where such a job could run, asked of the scheduler; for advice.
  virtual Result<Site> look_at_site(const JobSpec& spec) const = 0;

  // A shell with what the job would have had, to be executed here; an error where there is none.
  virtual Result<std::vector<std::string>> interactive(const JobSpec& spec) const = 0;
};

using Launchers = Registry<Launcher>;

// The launcher of this name; for "auto" the one that is here with the highest priority.
Result<std::unique_ptr<Launcher>> make_launcher(std::string_view name);

}  // namespace kedge::jobs
