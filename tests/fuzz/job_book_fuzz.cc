// What schedulers and the folders of jobs say: 'e' first, starts and ends; 'q', squeue's JSON; 't',
// its columns; 'l', a list of tasks; 'a', condor_q's JSON; 'u', HTCondor's log; anything else, a
// job.json.
#include <chrono>
#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/result.h"
#include "input_file.h"
#include "jobs/condor/job_ad.h"
#include "jobs/condor/user_log.h"
#include "jobs/job_book.h"
#include "jobs/job_ends.h"
#include "jobs/slurm/queue.h"

namespace {

using namespace kedge;
using namespace kedge::jobs;

void read_record(std::string_view input) {
  const auto json = nlohmann::json::parse(input, nullptr, false);
  if (const auto record = record_from_json(json, "/jobs/k")) {
    const auto again = record_from_json(to_json(*record), "/jobs/k");
    KEDGE_CHECK(again && to_json(*again) == to_json(*record), "a record comes back");
  }
}

void read_log(std::string_view input) {
  const auto events = condor::parse_user_log(input, std::chrono::system_clock::time_point());
  if (!events.empty()) {
    (void)condor::tell_story(events, events.front().job);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = as_text(data, size);
  const char mode = input.empty() ? ' ' : input[0];
  const std::string_view rest = input.substr(input.empty() ? 0 : 1);
  switch (mode) {
    case 'e':
      (void)parse_job_ends(rest, 1);
      break;
    case 'q':
      (void)slurm::parse_queue_json(rest);
      break;
    case 't':
      (void)slurm::parse_queue_text(rest);
      break;
    case 'l':
      (void)slurm::parse_task_list(rest);
      break;
    case 'a':
      (void)condor::parse_job_ads(rest);
      break;
    case 'u':
      read_log(rest);
      break;
    default:
      read_record(input);
  }
  return 0;
}
