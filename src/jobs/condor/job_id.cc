#include "jobs/condor/job_id.h"

#include <charconv>

#include <fmt/format.h>

namespace kedge::jobs::condor {
namespace {

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  const bool is_whole = !text.empty() && parsed.ec == std::errc{} && parsed.ptr == end;
  return is_whole && value >= 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string render_job_id(JobId id) {
  return fmt::format("{}.{}", id.cluster, id.process);
}

std::optional<JobId> parse_job_id(std::string_view text) {
  const std::size_t dot = text.find('.');
  const auto cluster = parse_number(text.substr(0, dot));
  const auto process = dot == std::string_view::npos ? std::optional<std::int64_t>(0)
                                                     : parse_number(text.substr(dot + 1));
  if (!cluster || !process) {
    return std::nullopt;
  }
  return JobId{*cluster, *process};
}

}  // namespace kedge::jobs::condor
