#include "core/inside_job.h"

#include <cstdlib>
#include <memory>
#include <string_view>

#include <time.h>
#include <unistd.h>

namespace kedge {
namespace {

using Clock = std::chrono::system_clock;

// Field 22 of /proc/self/stat is in clock ticks since boot.
Clock::time_point start_of_this_process() {
  const Clock::time_point now = Clock::now();
  const std::string stat = read_file("/proc/self/stat").value_or("");
  std::size_t at = stat.rfind(')');  // the name before it may hold spaces
  for (int field = 2; field < 22 && at != std::string::npos; ++field) {
    at = stat.find(' ', at + 1);
  }
  timespec boot{};
  if (at == std::string::npos || ::clock_gettime(CLOCK_BOOTTIME, &boot) != 0) {
    return now;
  }
  const double started_s =
      std::strtod(stat.c_str() + at, nullptr) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  const double up_s = static_cast<double>(boot.tv_sec) + static_cast<double>(boot.tv_nsec) * 1e-9;
  return now - std::chrono::duration_cast<Clock::duration>(
                   std::chrono::duration<double>(up_s - started_s));
}

// The first answer that is one.
template <typename Ask>
auto ask_each(Ask ask) -> decltype(ask(std::declval<const InsideJob&>())) {
  for (const auto& [name, entry] : InsideJobs::all()) {
    const auto inside = entry.make();
    KEDGE_CHECK(inside.has_value(), "what a scheduler says is read by code that needs nothing");
    if (auto answer = ask(**inside)) {
      return answer;
    }
  }
  return {};
}

}  // namespace

std::optional<std::string> find_environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

JobEnvironment JobEnvironment::of_this_process() {
  JobEnvironment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (const std::size_t equals = text.find('='); equals != std::string_view::npos) {
      environment.variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  environment.process_start = start_of_this_process();
  return environment;
}

std::string JobEnvironment::program(const char* name) const {
  return (programs / name).string();
}

std::optional<std::string> JobEnvironment::find(const char* name) const {
  const auto found = variables.find(name);
  return found == variables.end() || found->second.empty() ? std::nullopt
                                                           : std::optional(found->second);
}

std::optional<JobName> find_job_name(const FindVariable& find) {
  return ask_each([&](const InsideJob& inside) { return inside.find_name(find); });
}

Result<std::optional<JobStep>> find_job_step(const FindVariable& find) {
  using Answer = std::optional<Result<std::optional<JobStep>>>;
  const Answer found = ask_each([&](const InsideJob& inside) -> Answer {
    auto step = inside.find_step(find);
    return step && !*step ? std::nullopt : Answer(std::move(step));
  });
  return found ? *found : Result<std::optional<JobStep>>(std::nullopt);
}

std::map<std::string, std::string> describe_job(const FindVariable& find) {
  std::map<std::string, std::string> facts;
  ask_each([&](const InsideJob& inside) {
    facts.merge(inside.describe(find));
    return false;
  });
  return facts;
}

std::optional<TimeLimit> find_job_end(const JobEnvironment& environment) {
  std::optional<TimeLimit> earliest;
  ask_each([&](const InsideJob& inside) {
    auto limit = inside.find_end(environment);
    if (limit && (!earliest || limit->end < earliest->end)) {
      earliest = std::move(limit);
    }
    return false;
  });
  return earliest;
}

}  // namespace kedge
