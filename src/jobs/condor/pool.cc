#include "jobs/condor/pool.h"

#include <algorithm>
#include <chrono>
#include <sstream>

#include <fmt/format.h>

#include "core/process.h"
#include "jobs/condor/machine_list.h"
#include "jobs/scheduler_program.h"
#include "jobs/secrets.h"

namespace kedge::jobs::condor {
namespace {

constexpr std::chrono::milliseconds kTimeout = std::chrono::seconds(60);

std::string one_line(const std::string& text) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Extra Info")) {
      break;  // a page of general advice
    }
    if (line.starts_with("WARNING") || line.find_first_not_of(" \t") == std::string::npos) {
      continue;
    }
    result += (result.empty() ? "" : " ") + line;
  }
  return result.empty() ? "it says nothing" : result;
}

// What HTCondor's programs print when nobody answers.
bool is_away(const std::string& errors) {
  for (const char* words :
       {"Failed to connect to", "Can't find address of", "Failed to fetch ads", "Unable to locate",
        "CEDAR:6001", "Can't connect to", "Can't find address for", "SECMAN:2007", "Failed to send",
        "DCSchedd", "failed to connect", "Failed to commit"}) {
    if (errors.find(words) != std::string::npos) {
      return true;
    }
  }
  return false;
}

Error away(const std::string& program, const std::string& errors) {
  return {ErrorKind::Unavailable,
          fmt::format("HTCondor's schedd does not answer {}: {}", program, one_line(errors)),
          "is the schedd up (condor_status -schedd)?"};
}

Result<ProcessResult> call(std::vector<std::string> args, const Path& folder = {}) {
  KEDGE_TRY(need_program(args.front(), "HTCondor"));
  return run_process(
      {.args = without_secrets(std::move(args)), .folder = folder, .timeout = kTimeout});
}

Result<std::vector<JobAd>> ask(std::vector<std::string> args) {
  const std::string program = args.front();
  const auto answer = KEDGE_TRY(call(std::move(args)));
  if (!answer.is_ok() || is_away(answer.errors)) {
    return std::unexpected(away(program, answer.errors + answer.output));
  }
  return parse_job_ads(answer.output);
}

}  // namespace

bool Pool::is_here() {
  return find_program("condor_submit").has_value();
}

Result<std::string> Pool::submit(const std::vector<std::string>& command, const Path& folder) {
  const auto answer = KEDGE_TRY(call(command, folder));
  if (!answer.is_ok()) {
    const std::string said = answer.errors + answer.output;
    if (is_away(said)) {
      return std::unexpected(away("condor_submit", said));
    }
    return fail(ErrorKind::Usage, fmt::format("condor_submit refused: {}", one_line(said)));
  }
  // "12.0 - 12.11"
  const std::string id = answer.output.substr(0, answer.output.find('.'));
  if (id.empty() || id.find_first_not_of("0123456789") != std::string::npos) {
    return fail(ErrorKind::Unavailable,
                fmt::format("condor_submit printed no job id: {}", one_line(answer.output)));
  }
  return id;
}

Result<std::string> Pool::submit_dag(const Path& folder, const std::string& file) {
  const auto answer = KEDGE_TRY(call({"condor_submit_dag", file}, folder));
  const std::string said = answer.output + answer.errors;
  constexpr std::string_view kBefore = "submitted to cluster ";
  const std::size_t at = said.find(kBefore);
  if (answer.is_ok() && at != std::string::npos) {
    const std::size_t begin = at + kBefore.size();
    return said.substr(begin, said.find_first_not_of("0123456789", begin) - begin);
  }
  if (is_away(said)) {
    return std::unexpected(away("condor_submit_dag", said));
  }
  return fail(ErrorKind::Usage, fmt::format("condor_submit_dag refused: {}", one_line(said)));
}

Result<std::vector<JobAd>> Pool::query(const std::string& constraint) {
  return ask({"condor_q", "-json", "-attributes", job_ad_attributes(), "-allusers", "-constraint",
              constraint});
}

Result<std::vector<JobAd>> Pool::query_history(const std::string& constraint) {
  return ask(
      {"condor_history", "-json", "-attributes", job_ad_attributes(), "-constraint", constraint});
}

Result<std::int64_t> Pool::count_machines(const std::string& constraint) {
  const auto answer =
      KEDGE_TRY(call({"condor_status", "-constraint",
                      fmt::format("SlotType =!= \"Dynamic\" && ({})", constraint), "-af", "Name"}));
  if (!answer.is_ok()) {
    return std::unexpected(away("condor_status", answer.errors));
  }
  return std::ranges::count(answer.output, '\n');
}

Result<std::vector<SiteMachine>> Pool::list_machines() {
  const auto answer =
      KEDGE_TRY(call({"condor_status", "-constraint", "SlotType =!= \"Dynamic\"", "-af:t", "Name",
                      "TotalSlotCpus", "TotalSlotMemory", "TotalSlotGPUs", "GPUs_DeviceName",
                      "GPUs_Capability", "GPUs_GlobalMemoryMb"}));
  if (!answer.is_ok()) {
    return std::unexpected(away("condor_status", answer.errors));
  }
  return parse_machines(answer.output);
}

Result<void> Pool::remove(const std::string& constraint) {
  const auto answer = KEDGE_TRY(call({"condor_rm", "-constraint", constraint}));
  const std::string said = answer.errors + answer.output;
  if (answer.is_ok() || said.find("There are no jobs in the queue") != std::string::npos ||
      said.find("Couldn't find/remove") != std::string::npos) {
    return {};
  }
  if (is_away(said)) {
    return std::unexpected(away("condor_rm", said));
  }
  return fail(ErrorKind::Unavailable, fmt::format("condor_rm failed: {}", one_line(said)));
}

}  // namespace kedge::jobs::condor
