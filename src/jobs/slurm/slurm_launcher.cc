// Slurm, by its own programs: sbatch, squeue, sacct, scancel.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/exclusive_file.h"
#include "core/process.h"
#include "core/result.h"
#include "jobs/in_container.h"
#include "jobs/internal/unix_time.h"
#include "jobs/job_ends.h"
#include "jobs/job_script.h"
#include "jobs/launcher.h"
#include "jobs/scheduler_program.h"
#include "jobs/secrets.h"
#include "jobs/slurm/accounting.h"
#include "jobs/slurm/ask.h"
#include "jobs/slurm/limits.h"
#include "jobs/slurm/node_list.h"
#include "jobs/slurm/queue.h"
#include "jobs/slurm/refusal.h"
#include "jobs/slurm/script.h"

namespace kedge::jobs::slurm {
namespace {

using Statuses = std::map<std::string, std::vector<TaskStatus>>;

// Clocks of login node and controller differ a little; ids are reused after a controller's crash.
constexpr std::int64_t kClockDifference_s = 300;

// Everybody's where squeue ignores filters (22.05); where it heeds them, jobs that have ended are
// left out unless they are asked for.
Result<std::vector<QueuedJob>> read_queue() {
  if (const auto json = ask({"squeue", "--json", "--me", "--states=all"})) {
    if (auto jobs = parse_queue_json(json->output)) {
      return jobs;
    }
  } else if (json.error().kind == ErrorKind::Unavailable) {
    return std::unexpected(json.error());
  }
  std::vector<std::string> command = {"squeue", "--me"};
  const std::vector<std::string> columns = queue_columns();
  command.insert(command.end(), columns.begin(), columns.end());
  return parse_queue_text(KEDGE_TRY(ask(std::move(command))).output);
}

// Sites without accounting answer with an error: then there is nothing to add.
std::vector<AccountedJob> read_accounting(const std::vector<std::string>& ids,
                                          std::int64_t since_s) {
  if (ids.empty()) {
    return {};
  }
  const auto answer =
      ask({"sacct", "-n", "-P", "-S", fmt::format("uts{}", since_s - kClockDifference_s), "-j",
           fmt::format("{}", fmt::join(ids, ",")), "-o", accounting_columns()});
  return answer ? parse_accounting(answer->output) : std::vector<AccountedJob>();
}

struct Identity {
  std::string id;
  std::string name;
  std::string mark;
  std::int64_t submitted_s;
};

// Whether a job that Slurm knows is this submission. The mark says so; where it is not kept, the id
// with the name and a submit time that is not before ours.
bool is_submission(const Identity& job, const JobRecord& record, const Submission& submission) {
  if (!job.mark.empty()) {
    return job.mark == record.mark(submission.number);
  }
  return !submission.id.empty() && job.id == submission.id && job.name == record.spec.name &&
         job.submitted_s >= submission.prepared_s - kClockDifference_s;
}

Path owner_file(const JobRecord& record, const Submission& submission, std::int64_t task) {
  return record.folder / "owners" / fmt::format("{}-{}", submission.number, task);
}

std::vector<std::int64_t> tasks_of(const JobRecord& record, const Submission& submission) {
  std::vector<std::int64_t> tasks = submission.tasks;
  for (std::int64_t task = 0; submission.tasks.empty() && task < record.spec.task_count(); ++task) {
    tasks.push_back(task);
  }
  return tasks;
}

// The id that runs a task: the one that the job noted when it started (a follower of the first, a
// twin of an interrupted submit), else the one that sbatch answered with.
std::string owner_of(const JobRecord& record, const Submission& submission, std::int64_t task) {
  auto text = read_file(owner_file(record, submission, task));
  if (!text || text->empty()) {
    return submission.id;
  }
  text->erase(text->find_last_not_of('\n') + 1);
  return *text;
}

// So that a submission which Slurm does not have runs nothing when it comes after all: its tasks
// find another owner, and end. The id of one that was quicker; nothing: it will not run any more.
Result<std::optional<std::string>> give_up(const JobRecord& record, const Submission& submission) {
  std::vector<Path> made;
  for (const std::int64_t task : tasks_of(record, submission)) {
    const Path file = owner_file(record, submission, task);
    if (KEDGE_TRY(create_file_exclusively(file, "nobody\n"))) {
      made.push_back(file);
      continue;
    }
    for (const Path& ours : made) {
      std::error_code ignored;  // the task would end as if it had another owner: it is tried again
      std::filesystem::remove(ours, ignored);
    }
    return owner_of(record, submission, task);
  }
  return std::nullopt;
}

std::string render_id(const JobRecord& record, const std::string& id, std::int64_t index) {
  return record.spec.is_array() ? fmt::format("{}_{}", id, index) : id;
}

// A job that a person cancelled may say so itself before Slurm does: its script exits with 143.
void respect_cancel(const JobRecord& record, TaskStatus& status) {
  if (record.is_cancelled && status.state == TaskState::Failed && status.exit_code == 143) {
    status.state = TaskState::Cancelled;
  }
}

// What the queue says about one task; nothing when it is not there.
std::optional<TaskStatus> find_in_queue(const std::vector<QueuedJob>& queue,
                                        const JobRecord& record, std::int64_t task) {
  const Submission* submission = record.responsible(task);
  if (submission == nullptr) {
    return std::nullopt;
  }
  const std::string owner = owner_of(record, *submission, task);
  const std::int64_t index = task - submission->offset;
  std::optional<TaskStatus> found;
  for (const QueuedJob& job : queue) {
    const bool has_task = record.spec.is_array()
                              ? std::ranges::find(job.tasks, index) != job.tasks.end()
                              : job.tasks.empty();
    if (!has_task ||
        !is_submission({job.id, job.name, job.mark, job.status.submitted_s}, record, *submission)) {
      continue;
    }
    if (!found || job.id == owner || !is_final(job.status.state)) {
      found = job.status;
      found->id = render_id(record, job.id, index);
    }
    if (job.id == owner) {
      break;
    }
  }
  // How a job ended that another follows says nothing: what they noted themselves does.
  if (found && is_final(found->state) && !owner.empty() &&
      found->id != render_id(record, owner, index)) {
    return std::nullopt;
  }
  if (found) {
    found->task = task;
    respect_cancel(record, *found);
  }
  return found;
}

// The task of the record that this job ran last; nothing: none.
std::optional<std::int64_t> task_of(const AccountedJob& job, const JobRecord& record) {
  for (const Submission& submission : record.submissions) {
    const std::int64_t task = job.task.value_or(0) + submission.offset;
    if (record.responsible(task) == &submission && job.id == owner_of(record, submission, task) &&
        is_submission({job.id, job.name, job.mark, job.status.submitted_s}, record, submission)) {
      return task;
    }
  }
  return std::nullopt;
}

// Slurm counts the requeues of one job; a chain's jobs and a refused requeue's follower begin at 0.
void count_starts(const JobRecord& record, std::vector<TaskStatus>& statuses) {
  for (TaskStatus& status : statuses) {
    const Submission* submission = record.responsible(status.task);
    const auto noted = submission == nullptr
                           ? std::nullopt
                           : read_job_ends(record.folder, status.task, submission->number);
    if (noted) {
      status.restarts = std::max(status.restarts, noted->restarts);
    }
  }
}

void add_accounting(const std::vector<AccountedJob>& jobs, const JobRecord& record,
                    std::vector<TaskStatus>& statuses) {
  for (const AccountedJob& job : jobs) {
    const auto task = task_of(job, record);
    if (!task) {
      continue;
    }
    const auto known = std::ranges::find(statuses, *task, &TaskStatus::task);
    if (known == statuses.end()) {
      TaskStatus status = job.status;
      status.task = *task;
      respect_cancel(record, status);
      statuses.push_back(std::move(status));
    } else if (is_final(known->state)) {
      known->usage = job.status.usage;
      known->reason = known->reason.empty() ? job.status.reason : known->reason;
    }
  }
}

// A site without pyxis takes the job, and its srun then fails. Who names the tool knows that the
// nodes have it.
Result<void> check_pyxis(const JobSpec& spec) {
  const bool is_guess = spec.wants.container_tool == config::ContainerTool::Auto;
  if (spec.wants.container.empty() || !is_guess ||
      container_tool(spec, true) != config::ContainerTool::Pyxis) {
    return {};
  }
  const ProcessResult help = KEDGE_TRY(ask({"srun", "--help"}));
  if (help.output.find("--container-image") != std::string::npos) {
    return {};
  }
  return fail(ErrorKind::Usage,
              fmt::format("job.container: '{}' is for pyxis, which this site's srun does not have",
                          spec.wants.container),
              "`kedge container sif` makes a .sif file of it for Apptainer; where only the nodes "
              "have pyxis: job.container_tool=pyxis");
}

class SlurmLauncher : public Launcher {
 public:
  std::string_view name() const override { return "slurm"; }

  // The programs may be installed on a machine that belongs to no cluster.
  bool is_here() const override {
    if (!find_program("sbatch")) {
      return false;
    }
    std::error_code ignored;
    const bool has_file = std::getenv("SLURM_CONF") != nullptr ||
                          std::filesystem::exists("/etc/slurm/slurm.conf", ignored) ||
                          std::filesystem::exists("/etc/slurm-llnl/slurm.conf", ignored) ||
                          std::filesystem::exists("/run/slurm/conf/slurm.conf", ignored);
    if (has_file) {
      return true;
    }
    // Configless clusters are found by DNS.
    const auto answer =
        run_process({.args = {"scontrol", "ping"}, .timeout = std::chrono::seconds(5)});
    return answer && answer->is_ok();
  }

  int priority() const override { return 20; }

  Result<void> check_here() const override { return need_program("sbatch", "Slurm"); }

  std::int64_t find_array_limit() const override {
    const auto config = ask({"scontrol", "show", "config"});
    return config ? parse_array_limit(config->output) : 0;  // sbatch says what is wrong
  }

  Result<Rendering> render(const JobSpec& spec, const SubmissionPlace& place) const override {
    const std::string file = fmt::format("job-{}.sh", place.submission);
    Rendering rendering{.files = {{file, KEDGE_TRY(render_script(spec, place)), true}},
                        .command = {"sbatch", "--parsable", (place.folder / file).string()},
                        .output = output_pattern(spec, place),
                        .secrets = secrets_of(spec)};
    if (!spec.items.empty()) {
      rendering.files.push_back({"items", fmt::format("{}\n", fmt::join(spec.items, "\n"))});
    }
    const bool wants_kind = spec.wants.gpu_memory.value > 0 || !spec.wants.gpu_capability.empty();
    if (spec.wants.gpus > 0 && wants_kind && spec.wants.constraint.empty()) {
      rendering.notes.emplace_back(
          "Slurm cannot choose GPUs by memory or capability: name the nodes' feature as "
          "job.constraint (sinfo -o \"%f\" lists them)");
    }
    return rendering;
  }

  Result<std::string> submit(const Rendering& rendering, const JobRecord& record) const override {
    const ProcessResult partitions = KEDGE_TRY(ask({"sinfo", "-h", "-o", partition_columns()}));
    KEDGE_TRY(check_limits(record.spec, parse_partitions(partitions.output)));
    KEDGE_TRY(check_pyxis(record.spec));
    const auto answer = run_process(
        {.args = without_secrets(rendering.command, rendering.secrets), .timeout = kPatience});
    if (!answer) {
      return std::unexpected(answer.error());
    }
    if (!answer->is_ok()) {
      return std::unexpected(explain_refusal("sbatch", *answer));
    }
    // "12", or "12;cluster" where there are several.
    std::string id = answer->output.substr(0, answer->output.find_first_of(";\n"));
    if (id.empty() || id.find_first_not_of("0123456789") != std::string::npos) {
      return fail(ErrorKind::Unavailable,
                  "sbatch answered '" + answer->output + "', which is no id");
    }
    return id;
  }

  Result<std::optional<std::string>> find(const JobRecord& record) const override {
    const std::vector<QueuedJob> queue = KEDGE_TRY(read_queue());
    const auto found = std::ranges::find(queue, record.mark(), &QueuedJob::mark);
    if (found != queue.end()) {
      return found->id;
    }
    // It may have come and gone: then it left its id where it started.
    return give_up(record, record.last());
  }

  Result<Statuses> look(std::span<const JobRecord> records) const override {
    const std::vector<QueuedJob> queue = KEDGE_TRY(read_queue());
    Statuses statuses;
    std::vector<std::string> ids;
    std::int64_t since_s = now_s();
    for (const JobRecord& record : records) {
      std::set<std::int64_t> ended;
      for (const TaskStatus& status : record.ended) {
        ended.insert(status.task);
      }
      for (std::int64_t task = 0; task < record.spec.task_count(); ++task) {
        if (ended.contains(task)) {
          continue;
        }
        auto status = find_in_queue(queue, record, task);
        const Submission* submission = record.responsible(task);
        if ((!status || is_final(status->state)) && submission != nullptr) {
          ids.push_back(owner_of(record, *submission, task));
          since_s = std::min(since_s, submission->prepared_s);
        }
        if (status) {
          statuses[record.key].push_back(std::move(*status));
        }
      }
    }
    std::ranges::sort(ids);
    const auto [first, last] = std::ranges::unique(ids);
    ids.erase(first, last);
    std::erase(ids, "");
    const std::vector<AccountedJob> accounted = read_accounting(ids, since_s);
    for (const JobRecord& record : records) {
      add_accounting(accounted, record, statuses[record.key]);
      count_starts(record, statuses[record.key]);
    }
    return statuses;
  }

  Result<void> cancel(const JobRecord& record, std::span<const std::int64_t> tasks) const override {
    // Only what carries our mark now: the id may be somebody else's by now.
    const std::vector<QueuedJob> queue = KEDGE_TRY(read_queue());
    std::vector<std::string> command = {"scancel"};
    for (std::int64_t task = 0; task < record.spec.task_count(); ++task) {
      const bool is_wanted = tasks.empty() || std::ranges::find(tasks, task) != tasks.end();
      const auto status = is_wanted ? find_in_queue(queue, record, task) : std::nullopt;
      if (status && !is_final(status->state)) {
        command.push_back(status->id);
      }
    }
    if (command.size() > 1) {
      KEDGE_TRY(ask(std::move(command)));
    }
    return {};
  }

  Result<Site> look_at_site(const JobSpec& spec) const override {
    std::vector<std::string> command = {"sinfo", "-h", "-N", "-o", node_columns()};
    if (!spec.wants.queue.empty()) {
      command.insert(command.end(), {"-p", spec.wants.queue});
    }
    Site site{.machines = parse_nodes(KEDGE_TRY(ask(std::move(command))).output)};
    // Sites without accounting have no limits of this kind.
    const char* user = std::getenv("USER");
    const auto limits =
        ask({"sacctmgr", "-n", "-P", "show", "assoc",
             fmt::format("user={}", user == nullptr ? "" : user), "format=maxjobs"});
    const std::int64_t most = limits ? std::strtoll(limits->output.c_str(), nullptr, 10) : 0;
    if (most > 0) {
      site.tasks_per_user = most;
    }
    return site;
  }

  Result<std::vector<std::string>> interactive(const JobSpec& spec) const override {
    std::error_code error;
    return session_words(spec, std::filesystem::read_symlink("/proc/self/exe", error));
  }
};

const Launchers::Add kAddSlurm({"slurm", "Slurm: sbatch, srun, requeue on exit code 85",
                                []() -> Result<std::unique_ptr<Launcher>> {
                                  return std::make_unique<SlurmLauncher>();
                                }});

}  // namespace
}  // namespace kedge::jobs::slurm
