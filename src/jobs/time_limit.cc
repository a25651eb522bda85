#include "jobs/time_limit.h"

#include <string_view>

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include "core/file.h"
#include "core/log.h"
#include "core/process.h"
#include "jobs/internal/job_end.h"

namespace kedge::jobs {
namespace {

std::optional<std::string> find_variable(const JobEnvironment& environment, const char* name) {
  const auto found = environment.variables.find(name);
  return found == environment.variables.end() || found->second.empty()
             ? std::nullopt
             : std::optional(found->second);
}

std::optional<TimeLimit> find_in_variable(const JobEnvironment& environment, const char* name) {
  const std::optional<std::string> text = find_variable(environment, name);
  if (!text) {
    return std::nullopt;
  }
  const std::optional<std::int64_t> end = parse_seconds(*text);
  if (!end) {
    warn("{}={} is not a time in Unix seconds; it is not used", name, *text);
    return std::nullopt;
  }
  return TimeLimit{.end = SystemTime(std::chrono::seconds(*end)), .source = name};
}

std::optional<TimeLimit> ask_slurm(const JobEnvironment& environment) {
  const std::optional<std::string> job = find_variable(environment, "SLURM_JOB_ID");
  if (!job || !parse_seconds(*job)) {
    return std::nullopt;
  }
  // In UTC and the standard form, whatever the user's settings: local time is ambiguous for an hour
  // a year.
  const auto answer =
      run_process({.args = {"env", "-u", "SQUEUE_STATES", "TZ=UTC0", "SLURM_TIME_FORMAT=standard",
                            environment.squeue, "-h", "-j", *job, "-o", "%A %e"},
                   .timeout = environment.squeue_timeout});
  if (!answer || !answer->is_ok()) {
    std::string why = answer ? answer->errors : "squeue gave no answer";
    why.erase(why.find_last_not_of('\n') + 1);
    warn("the end of Slurm job {} is not known: {}; train.max_time can say it", *job, why);
    return std::nullopt;
  }
  const std::optional<SystemTime> end = parse_squeue_end(answer->output, *job);
  if (!end) {
    return std::nullopt;
  }
  return TimeLimit{.end = *end, .source = fmt::format("Slurm job {} (squeue)", *job)};
}

std::optional<TimeLimit> read_job_ad(const JobEnvironment& environment) {
  const std::optional<std::string> file = find_variable(environment, "_CONDOR_JOB_AD");
  if (!file) {
    return std::nullopt;
  }
  const auto ad = read_file(*file);
  if (!ad) {
    warn("the end of this HTCondor job is not known: {}", ad.error().message);
    return std::nullopt;
  }
  const SystemTime start =
      find_condor_start(environment.variables).value_or(environment.process_start);
  const std::optional<SystemTime> end = parse_job_ad_end(*ad, start);
  return end ? std::optional(TimeLimit{.end = *end, .source = "HTCondor job ad"}) : std::nullopt;
}

// Field 22 of /proc/self/stat is in clock ticks since boot.
SystemTime start_of_this_process() {
  const SystemTime now = std::chrono::system_clock::now();
  const std::string stat = read_file("/proc/self/stat").value_or("");
  std::size_t at = stat.rfind(')');  // the name before it may hold spaces
  for (int field = 2; field < 22 && at != std::string::npos; ++field) {
    at = stat.find(' ', at + 1);
  }
  timespec boot{};
  if (at == std::string::npos || ::clock_gettime(CLOCK_BOOTTIME, &boot) != 0) {
    return now;
  }
  const std::string ticks = stat.substr(at + 1, stat.find(' ', at + 1) - at - 1);
  const double started_s = static_cast<double>(parse_seconds(ticks).value_or(0)) /
                           static_cast<double>(::sysconf(_SC_CLK_TCK));
  const double up_s = static_cast<double>(boot.tv_sec) + static_cast<double>(boot.tv_nsec) * 1e-9;
  return now - std::chrono::duration_cast<SystemTime::duration>(
                   std::chrono::duration<double>(up_s - started_s));
}

}  // namespace

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

std::optional<TimeLimit> find_time_limit(const JobEnvironment& environment) {
  if (auto limit = find_in_variable(environment, "KEDGE_JOB_END")) {
    return limit;
  }
  if (auto limit = find_in_variable(environment, "SLURM_JOB_END_TIME")) {
    return limit;
  }
  if (auto limit = ask_slurm(environment)) {
    return limit;
  }
  return read_job_ad(environment);
}

}  // namespace kedge::jobs
