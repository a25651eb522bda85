#include "jobs/internal/time_text.h"

#include <charconv>
#include <system_error>

#include "core/log.h"

namespace kedge::jobs {
namespace {

using std::chrono::seconds;

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

std::optional<TimeLimit> limit_in_variable(const JobEnvironment& environment, const char* name) {
  const auto text = environment.find(name);
  if (!text) {
    return std::nullopt;
  }
  const auto end = parse_seconds(*text);
  if (!end) {
    warn("{}={} is not a time in Unix seconds; it is not used", name, *text);
    return std::nullopt;
  }
  return TimeLimit{.end = SystemTime(seconds(*end)), .source = name};
}

}  // namespace kedge::jobs
