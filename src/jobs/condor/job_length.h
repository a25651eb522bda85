// The classes of GPU jobs that CHTC's pool has: how long a job may run, and how many GPUs jobs of a
// class may hold together. Shorter jobs get more of the pool.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace kedge::jobs::condor {

inline constexpr double kHour_s = 3600;

struct JobLengthClass {
  std::string_view name;
  double limit_s = 0;
  double gpu_fraction = 0;     // of the pool's shared GPUs; 0: `gpu_count` says it
  std::int64_t gpu_count = 0;  // per user
};

// The shortest first.
std::span<const JobLengthClass> job_length_classes();

// The shortest class whose limit holds `seconds`, with a fifth of it to spare: estimates are low
// more often than high, and a job over its limit is lost. Nothing: longer than any class.
std::optional<JobLengthClass> choose_job_length(double seconds);

}  // namespace kedge::jobs::condor
