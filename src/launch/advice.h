// Advice before submitting: does this work fit many small jobs, in which class of the queue, how
// long will all of it take, and is a GPU worth it. Pure functions of what the user knows; the
// figures of sites come in as arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "launch/job_length.h"

namespace kedge::launch {

// One task is the smallest piece that can be worked on by itself.
struct Work {
  std::int64_t tasks = 1;
  std::optional<double> gpu_s = {};  // for one task on a GPU; nothing: it cannot use one
  std::optional<double> cpu_s = {};  // the same on one core
  Bytes input = {};                  // of one task
  Bytes output = {};
  Bytes shared = {};          // what every job needs besides: a model, a data set
  std::int64_t gpus = 1;      // of one task
  std::int64_t machines = 1;  // that one task needs at the same time
  bool is_resumable = true;
  bool data_may_leave = true;
};

// What one user may hold at the same time: cores, and of the shared GPUs the share of a class.
struct Allowance {
  std::int64_t gpus = 150;  // CHTC has about 300, half of them owned by groups
  std::int64_t cores = 1000;
};

enum class Fit : std::uint8_t { Good, HereOnly, Poor };

struct Route {
  std::string device;  // "gpu" or "cpu"
  std::int64_t tasks_per_job = 1;
  std::int64_t jobs = 0;
  double job_s = 0;         // one job
  std::string length = {};  // class of GPU jobs; empty: none is long enough, or no GPU
  std::int64_t at_once = 0;
  double wall_s = 0;     // all jobs
  double compute_s = 0;  // GPU or core seconds, over all
};

struct Advice {
  Fit fit = Fit::Good;
  std::vector<std::string> reasons;
  std::vector<Route> routes;  // the fastest first
  Bytes total_input = {};
  Bytes total_output = {};
};

// Jobs shorter than this spend more time on starting and transfers than on work, so tasks are put
// together up to it.
inline constexpr double kJobAtLeast_s = 3600;

Advice advise(const Work& work, const Allowance& allowance);

// What to say before a job is submitted whose limit is below what it will probably take. Nothing
// when the limit is enough.
std::optional<std::string> limit_warning(double estimate_s, double limit_s, bool is_resumable);

}  // namespace kedge::launch
