// The user log of HTCondor (`log = FILE` of a submit file): what happened to jobs, in the order in
// which it happened. It is written on the submit side, so it is there when no daemon answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "jobs/condor/job_id.h"

namespace kedge::jobs::condor {

using SystemTime = std::chrono::system_clock::time_point;

// The numbers that begin events' lines; HTCondor knows more of them, and they are kept too.
enum class EventKind : int {
  Submitted = 0,
  Executing = 1,
  ExecutableError = 2,
  Evicted = 4,
  Terminated = 5,
  ImageSize = 6,
  ShadowException = 7,
  Aborted = 9,
  Held = 12,
  Released = 13,
  PostScriptTerminated = 16,
  RemoteError = 21,  // the machine could not start or go on with the job
  Disconnected = 22,
  Reconnected = 23,
  ReconnectFailed = 24,
  ClusterRemoved = 36,  // of a submit that feeds its jobs into the queue one by one: no more come
  FileTransfer = 40,
};

// A row of the table "Partitionable Resources": what was used, asked for and given.
struct ResourceUse {
  std::optional<double> used = {};
  std::optional<double> requested = {};
  std::optional<double> allocated = {};
};

struct Event {
  EventKind kind{};
  JobId job;
  SystemTime time;
  std::string text;                  // the first line behind the time: "Job was evicted."
  std::vector<std::string> details;  // the lines below, without their indentation
  std::map<std::string, ResourceUse> resources = {};  // "Memory (MB)", "Cpus", ...
};

// Times are local and, in the older form MM/DD, without a year: `now` says which. An event without
// its closing line is still being written and is left for the next reading; lines that are no event
// are passed over.
std::vector<Event> parse_user_log(std::string_view text, SystemTime now);

std::vector<Event> read_user_log(const Path& file);  // none when there is no such file

// What the log says of one job, added up.
struct JobStory {
  bool is_running = false;
  bool is_held = false;
  bool is_removed = false;
  bool is_over_limit = false;  // the last hold was for its allowed duration
  std::string reason = "";     // why it was held or removed
  std::optional<int> exit_code = {};
  std::optional<int> signal = {};
  std::int64_t starts = 0;
  std::int64_t evictions = 0;
  std::int64_t transfers_home = 0;  // checkpoints and results that came back
  std::optional<SystemTime> submitted = {};
  std::optional<SystemTime> first_start = {};
  std::optional<SystemTime> ended = {};
  std::optional<double> cpu_s = {};
  double executing_s = 0;                             // over all starts
  std::string host = "";                              // the last one
  std::map<std::string, ResourceUse> resources = {};  // the largest use seen

  bool is_over() const { return exit_code || signal || is_removed; }
};

JobStory tell_story(const std::vector<Event>& events, JobId job);

}  // namespace kedge::jobs::condor
