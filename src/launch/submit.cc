#include "launch/submit.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/log.h"
#include "launch/job_ends.h"
#include "launch/secrets.h"

namespace kedge::launch {
namespace {

constexpr std::int64_t kSettled_s = 10;

std::int64_t now_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// The scheduler's ids of what the job waits for. A job that has ended as it was asked to is left
// out: schedulers forget ended jobs, and then refuse to wait for them.
Result<std::map<std::string, std::string>> find_dependencies(const JobBook& book,
                                                             std::string_view launcher,
                                                             const JobSpec& spec) {
  std::map<std::string, std::string> ids;
  for (const Dependency& dependency : spec.after) {
    const JobRecord record = KEDGE_TRY(book.find(dependency.key));
    if (record.launcher != launcher) {
      return fail(ErrorKind::Usage,
                  fmt::format("job {} runs on {}, this one on {}: they cannot wait for each other",
                              record.key, record.launcher, launcher),
                  "give both the same job.scheduler");
    }
    if (record.submissions.empty() || record.last().state != SubmitState::Submitted) {
      return fail(ErrorKind::Usage, fmt::format("job {} was not submitted", record.key),
                  fmt::format("`kedge retry {}` submits it", record.key));
    }
    ids[dependency.key] = record.last().id;
  }
  return ids;
}

// Names and ids become keys: they may mean other jobs later.
Result<JobSpec> with_keys(const JobBook& book, JobSpec spec) {
  for (Dependency& dependency : spec.after) {
    dependency.key = KEDGE_TRY(book.find(dependency.key)).key;
  }
  return spec;
}

Result<void> write_files(const JobRecord& record, const Rendering& rendering) {
  KEDGE_TRY(make_dirs(record.folder / "logs"));
  KEDGE_TRY(make_dirs(record.folder / "ends"));
  KEDGE_TRY(make_dirs(record.folder / "owners"));
  if (!rendering.output.empty()) {
    KEDGE_TRY(make_dirs(Path(rendering.output).parent_path()));
  }
  for (const auto& [name, text] : record.spec.files) {
    KEDGE_TRY(write_file_atomic(record.folder / name, text));
  }
  for (const RenderedFile& file : rendering.files) {
    const Path path = record.folder / file.name;
    KEDGE_TRY(write_file_atomic(path, file.text));
    if (file.is_program) {
      std::error_code error;
      std::filesystem::permissions(path, std::filesystem::perms::owner_exec,
                                   std::filesystem::perm_options::add, error);
    }
  }
  return {};
}

// The last submission of the record, up to the scheduler's answer.
Result<void> call_scheduler(const JobBook& book, const Launcher& launcher, JobRecord& record,
                            const Rendering& rendering) {
  auto id = launcher.submit(rendering, record);
  Submission& submission = record.submissions.back();
  if (id) {
    submission.state = SubmitState::Submitted;
    submission.id = *id;
    return book.write(record);
  }
  submission.message = id.error().message;
  if (id.error().kind != ErrorKind::Unavailable) {
    submission.state = SubmitState::Refused;
  }
  KEDGE_TRY(book.write(record));
  return std::unexpected(id.error());
}

Result<void> submit_tasks(const JobBook& book, const Launcher& launcher, JobRecord& record,
                          const std::vector<std::int64_t>& tasks, const Path& kedge) {
  const auto lock = KEDGE_TRY(SubmitLock::take(record.folder));
  if (!lock) {
    return fail(ErrorKind::Unavailable,
                fmt::format("job {} is being submitted by another process", record.key));
  }
  SubmissionPlace place{.key = record.key,
                        .submission = record.submissions.empty() ? 1 : record.last().number + 1,
                        .tasks = tasks,
                        .folder = record.folder,
                        .kedge = kedge,
                        .ids = KEDGE_TRY(find_dependencies(book, launcher.name(), record.spec))};
  const Rendering rendering = KEDGE_TRY(launcher.render(record.spec, place));
  KEDGE_TRY(write_submission(book, record, rendering, tasks));
  return call_scheduler(book, launcher, record, rendering);
}

bool has_ended(const JobRecord& record) {
  return std::cmp_equal(record.ended.size(), record.spec.task_count());
}

// Notes what will not change any more.
void remember_ends(const JobBook& book, JobView& view) {
  const std::size_t before = view.record.ended.size();
  view.record.ended.clear();
  for (const TaskStatus& status : view.tasks) {
    // Accounting lags behind: what a job used is known a moment after its end.
    const bool is_settled = status.ended_s == 0 || now_s() - status.ended_s > kSettled_s;
    if (is_settled && is_final(status.state) && status.state != TaskState::Lost &&
        view.record.responsible(status.task) != nullptr) {
      view.record.ended.push_back(status);
    }
  }
  if (view.record.ended.size() == before) {
    return;
  }
  if (has_ended(view.record)) {
    remove_secrets(view.record.folder);
  }
  if (auto written = book.write(view.record); !written) {
    warn("{}", written.error().message);
  }
}

void look_with(const JobBook& book, const std::string& name, std::span<JobView*> views) {
  const auto launcher = make_launcher(name);
  std::string problem = launcher ? "" : launcher.error().message;
  std::vector<JobRecord> records;
  for (JobView* view : views) {
    const bool is_open =
        !view->record.submissions.empty() && view->record.last().state == SubmitState::Prepared;
    if (launcher && is_open) {
      if (auto settled = settle(book, **launcher, view->record); !settled) {
        problem = settled.error().message;
      }
    }
    if (!has_ended(view->record)) {
      records.push_back(view->record);
    }
  }
  std::map<std::string, std::vector<TaskStatus>> seen;
  if (launcher && problem.empty() && !records.empty()) {
    auto answer = (*launcher)->look(records);
    if (answer) {
      seen = std::move(*answer);
    } else {
      problem = answer.error().message;
    }
  }
  for (JobView* view : views) {
    view->tasks =
        complete_statuses(view->record, std::move(seen[view->record.key]), problem.empty());
    if (!has_ended(view->record)) {
      view->problem = problem;
      remember_ends(book, *view);
    }
  }
}

}  // namespace

Result<void> write_submission(const JobBook& book, JobRecord& record, const Rendering& rendering,
                              const std::vector<std::int64_t>& tasks) {
  KEDGE_TRY(write_files(record, rendering));
  KEDGE_TRY(write_secrets(record.folder));
  record.submissions.push_back({.number = record.submissions.empty() ? 1 : record.last().number + 1,
                                .tasks = tasks,
                                .prepared_s = now_s(),
                                .output = rendering.output});
  return book.write(record);
}

std::string SubmissionPlace::mark() const {
  return fmt::format("kedge:{}/{}", key, submission);
}

Result<std::unique_ptr<Launcher>> make_launcher(std::string_view name) {
  if (name != "auto") {
    return Launchers::make("scheduler", std::string(name));
  }
  for (const char* candidate : {"slurm", "condor", "local"}) {
    if (!Launchers::all().contains(candidate)) {
      continue;
    }
    auto launcher = KEDGE_TRY(Launchers::make("scheduler", candidate));
    if (launcher->is_here()) {
      return launcher;
    }
  }
  return fail(ErrorKind::Unavailable, "no scheduler is here");
}

Result<Rendering> rehearse(const JobBook& book, const Launcher& launcher, const JobSpec& spec,
                           const Path& kedge) {
  KEDGE_TRY(check_spec(spec));
  return launcher.render(spec, {.key = "KEY",
                                .folder = book.dir() / "KEY",
                                .kedge = kedge,
                                .ids = KEDGE_TRY(find_dependencies(book, launcher.name(), spec))});
}

Result<JobRecord> submit_job(const JobBook& book, const Launcher& launcher, const JobSpec& spec,
                             const Path& kedge) {
  // Whatever can be found wrong is found before anything is written.
  KEDGE_TRY(rehearse(book, launcher, spec, kedge));
  JobRecord record = KEDGE_TRY(book.add(KEDGE_TRY(with_keys(book, spec)), launcher.name()));
  auto submitted = submit_tasks(book, launcher, record, {}, kedge);
  if (!submitted) {
    Error error = std::move(submitted).error();
    if (error.kind == ErrorKind::Unavailable) {
      error.hint += fmt::format(
          "{}the job is kept as {}; `kedge jobs` finds out whether it was "
          "taken, `kedge retry {}` submits it if not",
          error.hint.empty() ? "" : "; ", record.key, record.key);
    }
    return std::unexpected(std::move(error));
  }
  return record;
}

Result<void> submit_again(const JobBook& book, const Launcher& launcher, JobRecord& record,
                          const std::vector<std::int64_t>& tasks, const Path& kedge) {
  std::erase_if(record.ended, [&](const TaskStatus& status) {
    return tasks.empty() || std::ranges::find(tasks, status.task) != tasks.end();
  });
  record.is_cancelled = false;
  std::error_code ignored;
  std::filesystem::remove(record.folder / "cancelled", ignored);
  for (std::int64_t task = 0; task < record.spec.task_count(); ++task) {
    if (tasks.empty() || std::ranges::find(tasks, task) != tasks.end()) {
      std::filesystem::remove(record.folder / fmt::format("cancelled-{}", task), ignored);
    }
  }
  return submit_tasks(book, launcher, record, tasks, kedge);
}

Result<void> settle(const JobBook& book, const Launcher& launcher, JobRecord& record) {
  const auto lock = KEDGE_TRY(SubmitLock::take(record.folder));
  if (!lock) {
    return {};  // its submitter is alive
  }
  // The submitter may have ended between our reading and our locking.
  record = KEDGE_TRY(book.read(record.key));
  if (record.submissions.empty() || record.last().state != SubmitState::Prepared) {
    return {};
  }
  const auto id = KEDGE_TRY(launcher.find(record));
  Submission& submission = record.submissions.back();
  submission.state = id ? SubmitState::Submitted : SubmitState::Refused;
  submission.id = id.value_or("");
  submission.message = id ? "" : "the submit was interrupted before the scheduler had the job";
  return book.write(record);
}

std::vector<JobView> look_at_jobs(const JobBook& book, std::vector<JobRecord> records) {
  std::vector<JobView> views;
  for (JobRecord& record : records) {
    views.push_back({.record = std::move(record), .tasks = {}, .problem = {}});
  }
  std::map<std::string, std::vector<JobView*>> by_launcher;
  for (JobView& view : views) {
    by_launcher[view.record.launcher].push_back(&view);
  }
  for (auto& [name, group] : by_launcher) {
    look_with(book, name, group);
  }
  return views;
}

Result<void> cancel_job(const JobBook& book, JobRecord& record,
                        const std::vector<std::int64_t>& tasks) {
  const auto launcher = KEDGE_TRY(make_launcher(record.launcher));
  if (tasks.empty()) {
    // Before the scheduler is called: the job may be about to run itself again.
    KEDGE_TRY(book.mark_cancelled(record));
  }
  for (const std::int64_t task : tasks) {
    KEDGE_TRY(write_file_atomic(record.folder / fmt::format("cancelled-{}", task), ""));
  }
  if (!record.submissions.empty() && record.last().state == SubmitState::Prepared) {
    KEDGE_TRY(settle(book, *launcher, record));
  }
  return launcher->cancel(record, tasks);
}

}  // namespace kedge::launch
