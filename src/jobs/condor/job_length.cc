#include "jobs/condor/job_length.h"

#include <algorithm>
#include <array>

namespace kedge::jobs::condor {
namespace {

constexpr auto kClasses = std::to_array<JobLengthClass>({
    {.name = "short", .limit_s = 12 * kHour_s, .gpu_fraction = 2.0 / 3},
    {.name = "medium", .limit_s = 24 * kHour_s, .gpu_fraction = 1.0 / 3},
    {.name = "long", .limit_s = 7 * 24 * kHour_s, .gpu_count = 4},
});

}  // namespace

std::span<const JobLengthClass> job_length_classes() {
  return kClasses;
}

std::optional<JobLengthClass> choose_job_length(double seconds) {
  const auto found = std::ranges::find_if(
      kClasses, [&](const JobLengthClass& c) { return seconds * 1.2 <= c.limit_s; });
  return found == kClasses.end() ? std::nullopt : std::optional(*found);
}

}  // namespace kedge::jobs::condor
