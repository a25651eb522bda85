// HTCondor. What a job needs travels with it and what it made travels home, so nothing is shared
// with the machine it runs on, no network is used and no key is in the job.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/file.h"
#include "core/process.h"
#include "launch/condor/packing.h"
#include "launch/condor/pool.h"
#include "launch/condor/slot_script.h"
#include "launch/condor/standing.h"
#include "launch/condor/submission.h"
#include "launch/condor/user_log.h"
#include "launch/job_script.h"
#include "launch/launcher.h"

namespace kedge::launch::condor {
namespace {

std::string has_mark(const std::string& mark) {
  return "KedgeMark == " + class_ad_string(mark);
}

std::vector<Event> read_user_log(const JobRecord& record, std::int64_t submission) {
  const auto text = read_file(record.folder / user_log_name(submission));
  return text ? parse_user_log(*text, std::chrono::system_clock::now()) : std::vector<Event>{};
}

// Processes of a cluster are numbered in the order of the tasks that were submitted.
std::int64_t process_of(const Submission& submission, std::int64_t task) {
  const auto found = std::ranges::find(submission.tasks, task);
  return found == submission.tasks.end() ? task : found - submission.tasks.begin();
}

// The cluster of a submission: its id, or, for a step that DAGMan submits (maybe more than once),
// the last one that the log knows.
std::int64_t cluster_of(const Submission& submission, const std::vector<Event>& events) {
  const auto newest =
      std::ranges::max_element(events, {}, [](const Event& event) { return event.job.cluster; });
  if (newest != events.end()) {
    return newest->job.cluster;
  }
  const auto id = parse_job_id(submission.id);
  return id ? id->cluster : -1;
}

using AdsByMark = std::map<std::string, std::vector<JobAd>>;

std::optional<JobAd> find_ad(const AdsByMark& ads, const std::string& mark, JobId id) {
  const auto found = ads.find(mark);
  if (found == ads.end()) {
    return std::nullopt;
  }
  const auto ad = std::ranges::find(found->second, id, &JobAd::id);
  return ad == found->second.end() ? std::nullopt : std::optional(*ad);
}

std::vector<TaskStatus> look_at(const JobRecord& record, const AdsByMark& ads) {
  std::map<std::int64_t, std::vector<Event>> logs;  // by submission
  std::vector<TaskStatus> statuses;
  for (std::int64_t task = 0; task < record.spec.task_count(); ++task) {
    const Submission* submission = record.responsible(task);
    if (submission == nullptr) {
      continue;
    }
    if (!logs.contains(submission->number)) {
      logs[submission->number] = read_user_log(record, submission->number);
    }
    const std::vector<Event>& events = logs[submission->number];
    const JobId id{cluster_of(*submission, events), process_of(*submission, task)};
    auto status =
        status_of(tell_story(events, id), find_ad(ads, record.mark(submission->number), id));
    if (!status) {
      continue;
    }
    status->task = task;
    status->id = render_job_id(id);
    status->usage.time_limit_s = record.spec.wants.time.value;
    statuses.push_back(std::move(*status));
  }
  return statuses;
}

class CondorLauncher : public Launcher {
 public:
  std::string_view name() const override { return "condor"; }

  bool is_here() const override { return Pool::is_here(); }

  Result<Rendering> render(const JobSpec& spec, const SubmissionPlace& place) const override {
    if (!spec.after.empty()) {
      return fail(ErrorKind::Usage, "an HTCondor job waits for another only inside of a DAG",
                  "write the steps in a file: `kedge submit DAG.yaml`");
    }
    const SubmitFile file = KEDGE_TRY(make_submit_file(spec, place));
    const Inputs inputs = KEDGE_TRY(sort_inputs(spec));
    const std::string submit_file = submit_file_name(place.submission);
    return Rendering{.files = {{.name = submit_file, .text = KEDGE_TRY(condor::render(file))},
                               {.name = kSlotScript,
                                .text = render_slot_script(spec, place, inputs),
                                .is_program = true}},
                     .command = {"condor_submit", "-terse", submit_file},
                     .output = output_pattern(spec, place),
                     .notes = notes_on(spec)};
  }

  Result<std::string> submit(const Rendering& rendering, const JobRecord& record) const override {
    std::error_code error;
    const Path self = std::filesystem::read_symlink("/proc/self/exe", error);
    KEDGE_TRY(pack_job(record.spec, record.folder, self));
    return Pool::submit(rendering.command, record.folder);
  }

  Result<std::optional<std::string>> find(const JobRecord& record) const override {
    // The schedd writes the first event when it has the job for good.
    const auto events = read_user_log(record, record.last().number);
    if (!events.empty()) {
      return std::to_string(events.front().job.cluster);
    }
    const auto jobs = KEDGE_TRY(Pool::query(has_mark(record.mark())));
    return jobs.empty() ? std::nullopt : std::optional(std::to_string(jobs.front().id.cluster));
  }

  Result<std::map<std::string, std::vector<TaskStatus>>> look(
      std::span<const JobRecord> records) const override {
    std::vector<std::string> marks;
    for (const JobRecord& record : records) {
      for (const Submission& submission : record.submissions) {
        marks.push_back(class_ad_string(record.mark(submission.number)));
      }
    }
    AdsByMark ads;
    for (JobAd& ad :
         KEDGE_TRY(Pool::query(fmt::format("member(KedgeMark, {{{}}})", fmt::join(marks, ","))))) {
      ads[ad.mark].push_back(std::move(ad));
    }
    std::map<std::string, std::vector<TaskStatus>> statuses;
    for (const JobRecord& record : records) {
      auto seen = look_at(record, ads);
      if (!seen.empty()) {
        statuses[record.key] = std::move(seen);
      }
    }
    return statuses;
  }

  Result<void> cancel(const JobRecord& record, std::span<const std::int64_t> tasks) const override {
    for (const Submission& submission : record.submissions) {
      std::string constraint = has_mark(record.mark(submission.number));
      if (!tasks.empty()) {
        std::vector<std::int64_t> processes;
        for (const std::int64_t task : tasks) {
          processes.push_back(process_of(submission, task));
        }
        constraint += fmt::format(" && member(ProcId, {{{}}})", fmt::join(processes, ","));
      }
      KEDGE_TRY(Pool::remove(constraint));
    }
    return {};
  }

  Result<std::vector<std::string>> interactive(const JobSpec& spec) const override {
    return std::vector<std::string>{
        "condor_submit",
        "-interactive",
        fmt::format("request_cpus={}", spec.wants.cpus * spec.wants.ranks),
        fmt::format("request_memory={}MB", spec.wants.memory.value >> 20U),
        fmt::format("request_disk={}MB", spec.wants.disk.value >> 20U),
        fmt::format("request_gpus={}", spec.wants.gpus)};
  }
};

const Launchers::Add kAdd{{.name = "condor",
                           .summary = "HTCondor: files travel with the job, checkpoints come home",
                           .make = [] { return std::make_unique<CondorLauncher>(); }}};

}  // namespace
}  // namespace kedge::launch::condor
