// A job of HTCondor: the cluster is one submit, the process one job of it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kedge::jobs::condor {

struct JobId {
  std::int64_t cluster = 0;
  std::int64_t process = 0;
  auto operator<=>(const JobId&) const = default;
};

std::string render_job_id(JobId id);                       // "12.3"
std::optional<JobId> parse_job_id(std::string_view text);  // "12.3"; a bare "12" is 12.0

}  // namespace kedge::jobs::condor
