#include "jobs/internal/job_end.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace kedge::jobs {
namespace {

using std::chrono::seconds;

// Calls `visit` with each line.
template <typename Visit>
void for_each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    visit(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
}

// `name = value` of a job ad in which the value is a plain number of seconds.
std::optional<std::int64_t> find_attribute(std::string_view ad, std::string_view name) {
  std::optional<std::int64_t> found;
  for_each_line(ad, [&](std::string_view line) {
    if (line.starts_with(name) && line.substr(name.size()).starts_with(" = ")) {
      found = parse_seconds(line.substr(name.size() + 3));
    }
  });
  return found;
}

std::optional<int> parse_date_part(std::string_view text) {
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') {
      return std::nullopt;
    }
    value = value * 10 + (c - '0');
  }
  return value;
}

}  // namespace

std::optional<std::int64_t> parse_seconds(std::string_view text) {
  // The year 2096. The sum of two such numbers still fits into the clock's nanoseconds.
  constexpr std::int64_t kMax = 4'000'000'000;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && value > 0 && value < kMax ? std::optional(value) : std::nullopt;
}

std::optional<SystemTime> parse_utc(std::string_view text) {
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  if (text.size() != kShape.size()) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (kShape[i] != 'd' && text[i] != kShape[i]) {
      return std::nullopt;
    }
  }
  const auto year = parse_date_part(text.substr(0, 4));
  const auto month = parse_date_part(text.substr(5, 2));
  const auto day = parse_date_part(text.substr(8, 2));
  const auto hour = parse_date_part(text.substr(11, 2));
  const auto minute = parse_date_part(text.substr(14, 2));
  const auto second = parse_date_part(text.substr(17, 2));
  if (!year || !month || !day || !hour || !minute || !second) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  // Beyond 2262 the clock's nanoseconds overflow.
  if (!date.ok() || *year < 1970 || *year > 2261 || *hour > 23 || *minute > 59 || *second > 60) {
    return std::nullopt;
  }
  return std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         seconds(*second);
}

std::optional<SystemTime> parse_squeue_end(std::string_view output, std::string_view job_id) {
  std::optional<SystemTime> end;
  for_each_line(output, [&](std::string_view line) {
    if (line.starts_with(job_id) && line.substr(job_id.size()).starts_with(' ')) {
      end = parse_utc(line.substr(job_id.size() + 1));
    }
  });
  return end;
}

std::optional<SystemTime> parse_job_ad_end(std::string_view ad, SystemTime executing_since) {
  std::optional<SystemTime> end;
  if (const auto allowed = find_attribute(ad, "AllowedExecuteDuration")) {
    end = executing_since + seconds(*allowed);
  }
  if (const auto allowed = find_attribute(ad, "AllowedJobDuration")) {
    const auto start = find_attribute(ad, "JobCurrentStartDate");
    const SystemTime running_since = start ? SystemTime(seconds(*start)) : executing_since;
    const SystemTime job_end = running_since + seconds(*allowed);
    end = end ? std::min(*end, job_end) : job_end;
  }
  return end;
}

std::optional<SystemTime> find_condor_start(const std::map<std::string, std::string>& variables) {
  constexpr std::string_view kPrefix = "_CONDOR_ANCESTOR_";
  std::optional<SystemTime> latest;
  for (auto entry = variables.lower_bound(std::string(kPrefix));
       entry != variables.end() && entry->first.starts_with(kPrefix); ++entry) {
    const std::string_view text = entry->second;
    const std::size_t begin = text.find(':');
    const std::size_t end = text.rfind(':');
    if (begin == std::string_view::npos || end <= begin) {
      continue;
    }
    if (const auto birthday = parse_seconds(text.substr(begin + 1, end - begin - 1))) {
      latest = std::max(latest.value_or(SystemTime()), SystemTime(seconds(*birthday)));
    }
  }
  return latest;
}

}  // namespace kedge::jobs
