// HTCondor. What a job needs travels with it and what it made travels home, so nothing is shared
// with the machine it runs on and no network is used. Its machines may be anybody's: of keys only
// those travel that job.secrets names.
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
#include "core/log.h"
#include "core/units.h"
#include "jobs/condor/dag_file.h"
#include "jobs/condor/job_length.h"
#include "jobs/condor/packing.h"
#include "jobs/condor/pool.h"
#include "jobs/condor/sandbox.h"
#include "jobs/condor/slot_script.h"
#include "jobs/condor/standing.h"
#include "jobs/condor/submission.h"
#include "jobs/condor/user_log.h"
#include "jobs/job_script.h"
#include "jobs/launcher.h"
#include "jobs/scheduler_program.h"
#include "jobs/secrets.h"

namespace kedge::jobs::condor {
namespace {

Path own_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

std::string has_mark(const std::string& mark) {
  return "KedgeMark == " + class_ad_string(mark);
}

// In the folder of a step: the folder of its DAG.
constexpr const char* kDagLink = "dag";
constexpr const char* kDagName = "steps.dag";

// The life of the DAGMan that runs a step; empty: it is no step.
std::vector<Event> read_dag_log(const JobRecord& record) {
  return read_user_log(record.folder / kDagLink / fmt::format("{}.dagman.log", kDagName));
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

bool is_dag_alive(const JobRecord& record) {
  const auto events = read_dag_log(record);
  return !events.empty() && !tell_story(events, events.front().job).is_over();
}

// Of a step that DAGMan has not submitted (yet): nothing where there is no DAG.
std::optional<TaskStatus> status_in_dag(const JobRecord& record) {
  if (read_dag_log(record).empty()) {
    return std::nullopt;
  }
  const bool is_over = !is_dag_alive(record);
  return TaskStatus{.state = is_over ? TaskState::Cancelled : TaskState::Waiting,
                    .reason = is_over ? "not run: what it waits for ended otherwise"
                                      : "waits for the steps before it"};
}

// With job.at_once the schedd makes a job of a task when it is its turn; until then neither the
// queue nor the log knows it.
bool is_yet_to_come(const JobRecord& record, const std::vector<Event>& events) {
  return record.spec.is_array() && record.spec.wants.at_once > 0 && !record.is_cancelled &&
         std::ranges::find(events, EventKind::ClusterRemoved, &Event::kind) == events.end();
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
      logs[submission->number] = read_user_log(record.folder / user_log_name(submission->number));
    }
    const std::vector<Event>& events = logs[submission->number];
    const JobId id{cluster_of(*submission, events), process_of(*submission, task)};
    auto status =
        status_of(tell_story(events, id), find_ad(ads, record.mark(submission->number), id));
    // DAGMan may try it again, and only DAGMan knows how often it has.
    if (status && status->state == TaskState::Failed && is_dag_alive(record)) {
      status->state = TaskState::Waiting;
      status->reason =
          fmt::format("ended with {}; its DAG goes on", status->exit_code.value_or(-1));
    }
    if (!status && is_yet_to_come(record, events)) {
      status = TaskStatus{.reason = "waits for its turn (job.at_once)"};
    }
    if (!status) {
      status = status_in_dag(record);
    }
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

// Pools grow and shrink, so that a job for which there is no machine is submitted all the same.
void warn_if_nothing_fits(const JobSpec& spec) {
  const Requests needs = requests_of(spec);
  const std::string fits =
      fmt::format("TotalSlotCpus >= {} && TotalSlotMemory >= {} && TotalSlotDisk >= {} && {}",
                  needs.cpus, needs.memory_mb, needs.disk_mb * 1024,
                  needs.gpus > 0 ? fmt::format("TotalSlotGPUs >= {}", needs.gpus) : "true");
  if (spec.wants.nodes > 1) {
    const auto given = Pool::count_machines(fits + " && DedicatedScheduler =!= undefined");
    if (given && *given < spec.wants.nodes) {
      warn(
          "{} machines of the pool that can hold this take jobs of several machines (those with a "
          "DedicatedScheduler), and the job needs {}: it waits until there are as many",
          *given, spec.wants.nodes);
    }
    return;
  }
  const auto count = Pool::count_machines(fits);
  if (count && *count == 0) {
    warn(
        "no machine of the pool has {} cores, {} of memory, {} of disk{} now: the job waits until "
        "there is one",
        needs.cpus, render_bytes(spec.wants.memory), render_bytes(spec.wants.disk),
        needs.gpus > 0 ? fmt::format(" and {} GPUs", needs.gpus) : "");
  }
}

std::string describe_length(double task_s) {
  const auto length = choose_job_length(task_s);
  if (!length) {
    return "longer than any class of GPU jobs (7 days)";
  }
  return fmt::format("class {} (up to {}): {} at a time", length->name,
                     render_seconds({length->limit_s}),
                     length->gpu_count > 0
                         ? fmt::format("{} GPUs of a user", length->gpu_count)
                         : fmt::format("{:.0f}% of the shared GPUs", 100 * length->gpu_fraction));
}

class CondorLauncher : public Launcher {
 public:
  std::string_view name() const override { return "condor"; }

  bool is_here() const override { return Pool::is_here(); }

  int priority() const override { return 10; }

  std::string advise_on_queue(const JobSpec& spec, double task_s) const override {
    return spec.wants.gpus > 0 ? describe_length(task_s) : std::string();
  }

  Result<void> check_here() const override { return need_program("condor_submit", "HTCondor"); }

  Result<Rendering> render(const JobSpec& spec, const SubmissionPlace& place) const override {
    if (!spec.after.empty()) {
      return fail(ErrorKind::Usage, "an HTCondor job waits for another only inside of a DAG",
                  "write the steps in a file: `kedge submit DAG.yaml`");
    }
    const SubmitFile file = KEDGE_TRY(make_submit_file(spec, place));
    const std::string submit_file = submit_file_name(place.submission);
    return Rendering{.files = {{.name = submit_file, .text = KEDGE_TRY(condor::render(file))},
                               {.name = kSlotScript,
                                .text = KEDGE_TRY(render_slot_script(spec, place)),
                                .is_program = true}},
                     .command = {"condor_submit", "-terse", submit_file},
                     .output = log_pattern(spec, place),
                     .secrets = is_shared(spec) ? secrets_of(spec) : spec.wants.secrets,
                     .notes = notes_on(spec)};
  }

  Result<std::string> submit(const Rendering& rendering, const JobRecord& record) const override {
    warn_if_nothing_fits(record.spec);
    KEDGE_TRY(pack_job(record.spec, record.folder, own_program()));
    return Pool::submit(rendering.command, record.folder);
  }

  // A step of a DAG has an id that the book does not know, and another when it is tried again.
  std::vector<std::string> find_ids(const JobRecord& record,
                                    const Submission& submission) const override {
    std::set<std::string> ids;
    for (const Event& event : read_user_log(record.folder / user_log_name(submission.number))) {
      ids.insert(std::to_string(event.job.cluster));
    }
    return {ids.begin(), ids.end()};
  }

  Result<std::optional<std::string>> find(const JobRecord& record) const override {
    // The schedd writes the first event when it has the job for good; a step's DAG comes first.
    const Path user_log = record.folder / user_log_name(record.last().number);
    for (const auto& events : {read_dag_log(record), read_user_log(user_log)}) {
      if (!events.empty()) {
        return std::to_string(events.front().job.cluster);
      }
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

  Result<Site> look_at_site(const JobSpec& spec) const override {
    Site site{.machines = KEDGE_TRY(Pool::list_machines())};
    const SubmitFile file = KEDGE_TRY(make_submit_file(spec, {}));
    std::int64_t gpus = 0;
    for (const SiteMachine& machine : site.machines) {
      gpus += machine.gpus;
    }
    for (const JobLengthClass& length : job_length_classes()) {
      if (length.name == file.site.gpu_job_length) {
        const std::int64_t most =
            length.gpu_count > 0
                ? length.gpu_count
                : static_cast<std::int64_t>(static_cast<double>(gpus) * length.gpu_fraction);
        site.tasks_per_user = std::max<std::int64_t>(most / spec.wants.gpus, 1);
      }
    }
    return site;
  }

  bool takes_sets() const override { return true; }

  Result<std::string> submit_set(std::span<const SetJob> jobs) const override {
    const JobRecord& first = jobs.front().record;
    const Path folder = first.folder.parent_path() / ("dag-" + first.key);
    KEDGE_TRY(make_dirs(folder));
    std::vector<DagNode> nodes;
    for (const SetJob& job : jobs) {
      nodes.push_back({.name = job.step,
                       .folder = job.record.folder.string(),
                       .submit_file = submit_file_name(job.record.last().number),
                       .retries = job.retries,
                       .after = job.after});
      std::error_code error;
      std::filesystem::create_directory_symlink(folder, job.record.folder / kDagLink, error);
      KEDGE_TRY(pack_job(job.record.spec, job.record.folder, own_program()));
    }
    const DagText text = KEDGE_TRY(render_dag(nodes));
    KEDGE_TRY(write_file_atomic(folder / kDagName, text.dag));
    KEDGE_TRY(write_file_atomic(folder / kDagScript, text.script));
    std::error_code error;
    std::filesystem::permissions(folder / kDagScript, std::filesystem::perms(0755), error);
    return Pool::submit_dag(folder, kDagName);
  }

  Result<std::vector<std::string>> interactive(const JobSpec& spec) const override {
    return session_words(spec);
  }
};

const Launchers::Add kAddCondor{
    {.name = "condor",
     .summary = "HTCondor: files travel with the job, checkpoints come home",
     .make = [] { return std::make_unique<CondorLauncher>(); }}};

}  // namespace
}  // namespace kedge::jobs::condor
