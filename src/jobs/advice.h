// What a person should know before a job is submitted: whether the work fits the scheduler, how
// long it takes, what the site has for it, whether a GPU is worth waiting for. Pure: what was
// measured and what the site has come in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobs/job_spec.h"
#include "jobs/launcher.h"
#include "jobs/site.h"

namespace kedge::jobs {

// How fast the work went somewhere.
struct MeasuredSpeed {
  bool is_gpu = false;
  std::string device;  // "CPU, 2 threads", "NVIDIA A40"
  double samples_per_s = 0;
};

struct Estimate {
  double task_s = 0;    // of one task, from its start to its end
  bool is_gpu = false;  // where it was measured
  std::string from;     // "run amber-reef-3", "a probe of 60 steps"
};

struct WorkFacts {
  std::optional<Estimate> estimate = {};
  std::vector<MeasuredSpeed> speeds = {};
  std::uint64_t input_bytes = 0;  // that each task needs
  std::optional<Site> site = {};  // nothing: it could not be asked
};

struct Advice {
  std::string about;  // "time", "gpus", ...
  std::string text;
};

// One line a subject, the first being whether the work fits.
Result<std::vector<Advice>> advise(const JobSpec& spec, const Launcher& launcher,
                                   const WorkFacts& facts);

// Where job.time is shorter than the estimate: what will happen, and what to do. Said before the
// job is submitted.
std::optional<std::string> find_time_trouble(const JobSpec& spec);

}  // namespace kedge::jobs
