// The scheduler's job that this process is part of, as far as the scheduler tells: its name, its
// end, which processes were started together. Each launcher's folder registers what its scheduler
// says (src/jobs/<name>/inside.cc); no other file knows a scheduler's variables.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/file.h"
#include "core/registry.h"
#include "core/result.h"
#include "core/time_limit.h"

namespace kedge {

// The value of a variable, or nothing; tests pass their own.
using FindVariable = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> find_environment_variable(const char* name);

struct JobName {
  std::string text;         // "slurm 12"
  std::int64_t starts = 0;  // how often the job was started before
};

// Processes that the scheduler started together, one or more on each machine.
struct JobStep {
  std::string source;  // "Slurm job 12"
  std::int64_t job = 0;
  std::int64_t number = 0;  // of the step in its job
  std::int64_t tasks = 1;
  std::int64_t nodes = 1;
  std::optional<std::int64_t> rank = {};  // of this process
  std::int64_t local_rank = 0;            // among those of this machine
  std::int64_t local_tasks = 1;
  std::int64_t node = 0;
  std::string node_name = {};   // of this machine, as the scheduler calls it
  std::string first_host = {};  // of the first machine; empty: it does not say
};

// What a job sees of its scheduler; replaced in tests.
struct JobEnvironment {
  std::map<std::string, std::string> variables;
  std::chrono::system_clock::time_point process_start;
  Path programs = {};  // where the scheduler's programs are; empty: on PATH
  std::chrono::milliseconds patience = std::chrono::seconds(5);  // with one that does not answer

  static JobEnvironment of_this_process();

  std::string program(const char* name) const;
  std::optional<std::string> find(const char* name) const;  // a variable that is not empty
};

class InsideJob {
 public:
  InsideJob() = default;
  InsideJob(const InsideJob&) = delete;
  InsideJob& operator=(const InsideJob&) = delete;
  virtual ~InsideJob() = default;

  // Nothing: this process is in no job of this scheduler's.
  virtual std::optional<JobName> find_name(const FindVariable& find) const = 0;

  // What the record of a run keeps of the job. Never a secret.
  virtual std::map<std::string, std::string> describe(const FindVariable& find) const = 0;

  // Nothing where there is no limit or it cannot be learnt, which is warned about.
  virtual std::optional<TimeLimit> find_end(const JobEnvironment& environment) const = 0;

  // Usage where the variables contradict each other.
  virtual Result<std::optional<JobStep>> find_step(const FindVariable& /*find*/) const {
    return std::nullopt;
  }
};

using InsideJobs = Registry<InsideJob>;

// Of the first scheduler in whose job this process is. HTCondor comes before Slurm: its pilots run
// in Slurm's jobs.
std::optional<JobName> find_job_name(const FindVariable& find);
Result<std::optional<JobStep>> find_job_step(const FindVariable& find);

// Of all schedulers.
std::map<std::string, std::string> describe_job(const FindVariable& find);
// The earliest.
std::optional<TimeLimit> find_job_end(const JobEnvironment& environment);

}  // namespace kedge
