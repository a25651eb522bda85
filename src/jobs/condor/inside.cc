// What HTCondor tells the processes of its jobs.
#include "jobs/condor/inside.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/file.h"
#include "core/inside_job.h"
#include "core/log.h"
#include "core/result.h"

namespace kedge::jobs::condor {
namespace {

using std::chrono::seconds;

constexpr const char* kAdVariable = "_CONDOR_JOB_AD";
constexpr auto kRecorded = std::to_array<const char*>(
    {kAdVariable, "_CONDOR_MACHINE_AD", "_CONDOR_SLOT", "_CONDOR_SCRATCH_DIR", "_CONDOR_JOB_IWD"});

// `name = value` of a job ad.
std::optional<std::string> find_text(std::string_view ad, std::string_view name) {
  std::optional<std::string> found;
  for_each_line(ad, [&](std::string_view line) {
    if (line.starts_with(name) && line.substr(name.size()).starts_with(" = ")) {
      found = line.substr(name.size() + 3);
    }
  });
  return found;
}

std::optional<std::int64_t> find_seconds(std::string_view ad, std::string_view name) {
  const auto text = find_text(ad, name);
  return text ? parse_seconds(*text) : std::nullopt;
}

std::string read_ad(const FindVariable& find) {
  const auto file = find(kAdVariable);
  return file && !file->empty() ? read_file(*file).value_or("") : std::string();
}

class InsideCondor : public InsideJob {
 public:
  // HTCondor tells its job number only in the job's description.
  std::optional<JobName> find_name(const FindVariable& find) const override {
    const std::string ad = read_ad(find);
    const auto cluster = find_text(ad, "ClusterId");
    if (!cluster) {
      return std::nullopt;
    }
    const std::string starts = find_text(ad, "NumJobStarts").value_or("0");
    return JobName{fmt::format("condor {}.{}", *cluster, find_text(ad, "ProcId").value_or("")),
                   std::strtoll(starts.c_str(), nullptr, 10)};
  }

  std::map<std::string, std::string> describe(const FindVariable& find) const override {
    std::map<std::string, std::string> facts;
    for (const char* name : kRecorded) {
      if (auto value = find(name)) {
        facts.emplace(name, std::move(*value));
      }
    }
    const std::string ad = read_ad(find);
    for (const char* key : {"ClusterId", "ProcId", "NumJobStarts"}) {
      if (auto value = find_text(ad, key)) {
        facts.emplace(key, std::move(*value));
      }
    }
    return facts;
  }

  std::optional<TimeLimit> find_end(const JobEnvironment& environment) const override {
    const auto file = environment.find(kAdVariable);
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
    const auto end = parse_job_ad_end(*ad, start);
    return end ? std::optional(TimeLimit{.end = *end, .source = "HTCondor job ad"}) : std::nullopt;
  }
};

const InsideJobs::Add kAddInsideCondor({"condor", "the job ad of HTCondor",
                                        []() -> Result<std::unique_ptr<InsideJob>> {
                                          return std::make_unique<InsideCondor>();
                                        }});

}  // namespace

std::optional<SystemTime> parse_job_ad_end(std::string_view ad, SystemTime executing_since) {
  std::optional<SystemTime> end;
  if (const auto allowed = find_seconds(ad, "AllowedExecuteDuration")) {
    end = executing_since + seconds(*allowed);
  }
  if (const auto allowed = find_seconds(ad, "AllowedJobDuration")) {
    const auto start = find_seconds(ad, "JobCurrentStartDate");
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

}  // namespace kedge::jobs::condor
