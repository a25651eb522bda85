// Times as schedulers write them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/inside_job.h"
#include "core/time_limit.h"

namespace kedge::jobs {

using SystemTime = std::chrono::system_clock::time_point;

// Decimal digits alone, later than 0.
std::optional<std::int64_t> parse_seconds(std::string_view text);

// "2026-11-15T10:00:00", in UTC.
std::optional<SystemTime> parse_utc(std::string_view text);

// The Unix time in a variable; what is no such time is warned about.
std::optional<TimeLimit> limit_in_variable(const JobEnvironment& environment, const char* name);

// Calls `visit` with each line.
template <typename Visit>
void for_each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    visit(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
}

}  // namespace kedge::jobs
