#include "jobs/condor/job_ad.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace kedge::jobs::condor {
namespace {

constexpr auto kAttributes = std::to_array<std::string_view>({"ClusterId",
                                                              "ProcId",
                                                              "JobStatus",
                                                              "KedgeMark",
                                                              "ExitCode",
                                                              "ExitBySignal",
                                                              "ExitSignal",
                                                              "HoldReason",
                                                              "HoldReasonCode",
                                                              "RemoveReason",
                                                              "RemoteHost",
                                                              "LastRemoteHost",
                                                              "LastRejMatchReason",
                                                              "LastRejMatchTime",
                                                              "LastMatchTime",
                                                              "QDate",
                                                              "JobStartDate",
                                                              "CompletionDate",
                                                              "EnteredCurrentStatus",
                                                              "NumJobStarts",
                                                              "RemoteWallClockTime",
                                                              "RemoteUserCpu",
                                                              "RemoteSysCpu",
                                                              "CumulativeRemoteUserCpu",
                                                              "CumulativeRemoteSysCpu",
                                                              "CpusProvisioned",
                                                              "RequestCpus",
                                                              "GPUsProvisioned",
                                                              "RequestGPUs",
                                                              "MemoryProvisioned",
                                                              "RequestMemory",
                                                              "DiskProvisioned",
                                                              "RequestDisk",
                                                              "ResidentSetSize_RAW",
                                                              "ResidentSetSize",
                                                              "DiskUsage_RAW",
                                                              "DiskUsage"});

// Expressions come as strings ("/Expr(...)/"), so an attribute that is a number in one ad is text
// in the next: such a value is not known.
std::optional<double> find_number(const nlohmann::json& ad, const char* name) {
  const auto found = ad.find(name);
  return found != ad.end() && found->is_number() ? std::optional(found->get<double>())
                                                 : std::nullopt;
}

double number(const nlohmann::json& ad, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const auto value = find_number(ad, name)) {
      return *value;
    }
  }
  return 0;
}

std::int64_t whole(const nlohmann::json& ad, std::initializer_list<const char*> names) {
  return static_cast<std::int64_t>(number(ad, names));
}

std::string text(const nlohmann::json& ad, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = ad.find(name);
    if (found != ad.end() && found->is_string()) {
      return found->get<std::string>();
    }
  }
  return "";
}

// A running job's CPU time of this start is not yet in the cumulated one.
double cpu_seconds(const nlohmann::json& ad) {
  return std::max(number(ad, {"CumulativeRemoteUserCpu"}) + number(ad, {"CumulativeRemoteSysCpu"}),
                  number(ad, {"RemoteUserCpu"}) + number(ad, {"RemoteSysCpu"}));
}

void read_job_end(JobAd& job, const nlohmann::json& ad) {
  if (job.status == JobStatus::Removed) {
    job.ended_s = whole(ad, {"EnteredCurrentStatus"});
    return;
  }
  if (job.status != JobStatus::Completed) {
    return;
  }
  job.ended_s = whole(ad, {"CompletionDate", "EnteredCurrentStatus"});
  const auto by_signal = ad.find("ExitBySignal");
  if (by_signal != ad.end() && by_signal->is_boolean() && by_signal->get<bool>()) {
    job.exit_signal = static_cast<int>(whole(ad, {"ExitSignal"}));
  } else if (const auto code = find_number(ad, "ExitCode")) {
    job.exit_code = static_cast<int>(*code);
  }
}

// What the negotiator said when it found no place for the job.
std::string explain_wait(std::string reason, JobId id) {
  reason.erase(reason.find_last_not_of(" \n") + 1);
  return reason == "no match found"
             ? fmt::format("no machine of the pool fits or is free: condor_q -better-analyze {}",
                           render_job_id(id))
             : reason;
}

Result<JobAd> read_ad(const nlohmann::json& ad) {
  const auto cluster = ad.is_object() ? find_number(ad, "ClusterId") : std::nullopt;
  const auto status = ad.is_object() ? find_number(ad, "JobStatus") : std::nullopt;
  if (!cluster || !status) {
    return fail(ErrorKind::Corrupt, "HTCondor printed a job without ClusterId or JobStatus");
  }
  JobAd job;
  job.id = {static_cast<std::int64_t>(*cluster), whole(ad, {"ProcId"})};
  job.status = static_cast<JobStatus>(static_cast<int>(*status));
  job.mark = text(ad, {"KedgeMark"});
  job.host = text(ad, {"RemoteHost", "LastRemoteHost"});
  job.hold_code = static_cast<int>(whole(ad, {"HoldReasonCode"}));
  job.reason = job.status == JobStatus::Held ? text(ad, {"HoldReason"}) : "";
  if (job.status == JobStatus::Removed) {
    job.reason = text(ad, {"RemoveReason"});
  }
  // Kept from an earlier wait when it has run since.
  const bool is_refused = number(ad, {"LastRejMatchTime"}) > number(ad, {"LastMatchTime"});
  if (job.status == JobStatus::Idle && is_refused) {
    job.reason = explain_wait(text(ad, {"LastRejMatchReason"}), job.id);
  }
  job.queued_s = whole(ad, {"QDate"});
  job.started_s = whole(ad, {"JobStartDate"});
  job.starts = whole(ad, {"NumJobStarts"});
  job.wall_s = number(ad, {"RemoteWallClockTime"});
  job.cpu_s = cpu_seconds(ad);
  job.cpus = whole(ad, {"CpusProvisioned", "RequestCpus"});
  job.gpus = whole(ad, {"RequestGPUs", "GPUsProvisioned"});
  job.memory_request_mb = whole(ad, {"RequestMemory", "MemoryProvisioned"});
  job.disk_request_kb = whole(ad, {"RequestDisk", "DiskProvisioned"});
  job.memory_used_kb = whole(ad, {"ResidentSetSize_RAW", "ResidentSetSize"});
  job.disk_used_kb = whole(ad, {"DiskUsage_RAW", "DiskUsage"});
  read_job_end(job, ad);
  return job;
}

// Where the array that begins here ends: brackets inside of strings do not count.
std::size_t end_of_array(std::string_view text) {
  int depth = 0;
  bool is_in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (is_in_string) {
      at += c == '\\' ? 1 : 0;
      is_in_string = c != '"';
    } else if (c == '"') {
      is_in_string = true;
    } else if (c == '[') {
      ++depth;
    } else if (c == ']' && --depth == 0) {
      return at + 1;
    }
  }
  return text.size();
}

}  // namespace

std::string job_ad_attributes() {
  return fmt::format("{}", fmt::join(kAttributes, ","));
}

Result<std::vector<JobAd>> parse_job_ads(std::string_view text) {
  std::vector<JobAd> jobs;
  for (;;) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) {
      return jobs;
    }
    text.remove_prefix(begin);
    const std::size_t end = end_of_array(text);
    const auto array = nlohmann::json::parse(text.substr(0, end), nullptr, false);
    if (!array.is_array()) {
      return fail(ErrorKind::Corrupt,
                  fmt::format("HTCondor printed what is no JSON array: {:.60}", text));
    }
    for (const auto& ad : array) {
      jobs.push_back(KEDGE_TRY(read_ad(ad)));
    }
    text.remove_prefix(end);
  }
}

}  // namespace kedge::jobs::condor
