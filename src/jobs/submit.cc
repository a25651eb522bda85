#include "jobs/submit.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/plugin_names.h"
#include "core/log.h"
#include "jobs/internal/unix_time.h"
#include "jobs/job_ends.h"
#include "jobs/secrets.h"
#include "jobs/task_parts.h"

namespace kedge::jobs {
namespace {

constexpr std::int64_t kSettled_s = 10;

// Several where the array was too large for one submission.
std::vector<std::string> ids_of_last(const JobRecord& record) {
  std::vector<std::string> ids;
  const Submission& last = record.last();
  for (const Submission& submission : record.submissions) {
    const bool is_sibling = last.part_of > 0 && submission.part_of == last.part_of;
    if (submission.number == last.number || is_sibling) {
      ids.push_back(submission.id);
    }
  }
  return ids;
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
    ids[dependency.key] = fmt::format("{}", fmt::join(ids_of_last(record), ":"));
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
    remove_secrets(record.folder, submission.number);
  }
  KEDGE_TRY(book.write(record));
  return std::unexpected(id.error());
}

std::int64_t next_number(const JobRecord& record) {
  return record.submissions.empty() ? 1 : record.last().number + 1;
}

std::vector<TaskPart> parts_of(const Launcher& launcher, const JobSpec& spec,
                               const std::vector<std::int64_t>& tasks) {
  return spec.is_array() ? split_tasks(spec.tasks, tasks, launcher.find_array_limit())
                         : std::vector<TaskPart>{{.tasks = tasks}};
}

// What is known of these tasks (empty: all) is of an earlier submission.
void forget_ends(JobRecord& record, const std::vector<std::int64_t>& tasks) {
  const auto is_meant = [&](std::int64_t task) {
    return tasks.empty() || std::ranges::find(tasks, task) != tasks.end();
  };
  std::erase_if(record.ended, [&](const TaskStatus& status) { return is_meant(status.task); });
  record.is_cancelled = false;
  std::error_code ignored;
  std::filesystem::remove(record.folder / "cancelled", ignored);
  for (std::int64_t task = 0; task < record.spec.task_count(); ++task) {
    if (is_meant(task)) {
      std::filesystem::remove(record.folder / fmt::format("cancelled-{}", task), ignored);
    }
  }
}

Result<void> submit_tasks(const JobBook& book, const Launcher& launcher, JobRecord& record,
                          const std::vector<std::int64_t>& tasks, const Path& kedge) {
  KEDGE_TRY(check_secrets(record.spec));
  const auto lock = KEDGE_TRY(SubmitLock::take(record.folder));
  if (!lock) {
    return fail(ErrorKind::Unavailable,
                fmt::format("job {} is being submitted by another process", record.key));
  }
  // Who looked at the job before the lock was free may have seen it before it ran again.
  const JobRecord now = KEDGE_TRY(book.read(record.key));
  if (now.submissions.size() != record.submissions.size()) {
    return fail(ErrorKind::Unavailable,
                fmt::format("job {} was submitted by another process meanwhile", record.key),
                fmt::format("`kedge jobs {}` shows how it is", record.key));
  }
  if (!record.submissions.empty()) {
    forget_ends(record, tasks);
  }
  SubmissionPlace place{.key = record.key,
                        .submission = next_number(record),
                        .folder = record.folder,
                        .kedge = kedge,
                        .ids = KEDGE_TRY(find_dependencies(book, launcher.name(), record.spec))};
  const auto parts = parts_of(launcher, record.spec, tasks);
  const std::int64_t part_of = parts.size() > 1 ? place.submission : 0;
  for (const TaskPart& part : parts) {
    place.submission = next_number(record);
    place.tasks = part.tasks;
    place.offset = part.offset;
    const Rendering rendering = KEDGE_TRY(launcher.render(record.spec, place));
    KEDGE_TRY(write_submission(book, record, rendering,
                               {.tasks = part.tasks, .offset = part.offset, .part_of = part_of}));
    KEDGE_TRY(call_scheduler(book, launcher, record, rendering));
    // Each part keeps to job.at_once by itself: one after the other they do so together.
    place.part_before = record.spec.wants.at_once > 0 ? record.last().id : "";
  }
  return {};
}

bool has_ended(const JobRecord& record) {
  return std::cmp_equal(record.ended.size(), record.spec.task_count());
}

// Accounting lags behind: what a job used is known a moment after its end.
bool is_settled(const TaskStatus& status) {
  return is_final(status.state) && (status.ended_s == 0 || now_s() - status.ended_s > kSettled_s);
}

// Notes what will not change any more. Keys are not kept for what nobody knows any more either.
void remember_ends(const JobBook& book, JobView& view) {
  if (view.problem.empty() && std::ranges::all_of(view.tasks, is_settled)) {
    remove_all_secrets(view.record.folder);
  }
  const std::size_t before = view.record.ended.size();
  view.record.ended.clear();
  for (const TaskStatus& status : view.tasks) {
    if (is_settled(status) && status.state != TaskState::Lost &&
        view.record.responsible(status.task) != nullptr) {
      view.record.ended.push_back(status);
    }
  }
  if (view.record.ended.size() == before) {
    return;
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
                              Submission submission) {
  KEDGE_TRY(write_files(record, rendering));
  submission.number = next_number(record);
  KEDGE_TRY(write_secrets(record.folder, submission.number, rendering.secrets));
  submission.prepared_s = now_s();
  submission.output = rendering.output;
  record.submissions.push_back(std::move(submission));
  return book.write(record);
}

std::string SubmissionPlace::mark() const {
  return fmt::format("kedge:{}/{}", key, submission);
}

namespace {

const config::PluginNames kSchedulerNames("job.scheduler", [] {
  std::vector<std::string> names = {"auto"};
  for (const auto& [name, entry] : Launchers::all()) {
    names.emplace_back(name);
  }
  return names;
});

}  // namespace

Result<std::unique_ptr<Launcher>> make_launcher(std::string_view name) {
  if (name != "auto") {
    return Launchers::make("scheduler", std::string(name));
  }
  std::vector<std::unique_ptr<Launcher>> launchers;
  for (const auto& [known, entry] : Launchers::all()) {
    launchers.push_back(KEDGE_TRY(entry.make()));
  }
  std::ranges::stable_sort(launchers, std::greater(), &Launcher::priority);
  const auto found = std::ranges::find_if(launchers, &Launcher::is_here);
  if (found == launchers.end()) {
    return fail(ErrorKind::Unavailable, "no scheduler is here");
  }
  return std::move(*found);
}

Result<std::vector<Rendering>> rehearse(const JobBook& book, const Launcher& launcher,
                                        const JobSpec& spec, const Path& kedge) {
  KEDGE_TRY(check_spec(spec));
  KEDGE_TRY(check_secrets(spec));
  SubmissionPlace place{.key = "KEY",
                        .submission = 0,
                        .folder = book.dir() / "KEY",
                        .kedge = kedge,
                        .ids = KEDGE_TRY(find_dependencies(book, launcher.name(), spec))};
  std::vector<Rendering> renderings;
  for (const TaskPart& part : parts_of(launcher, spec, {})) {
    place.submission += 1;
    place.tasks = part.tasks;
    place.offset = part.offset;
    renderings.push_back(KEDGE_TRY(launcher.render(spec, place)));
    place.part_before = spec.wants.at_once > 0 ? fmt::format("ID{}", place.submission) : "";
  }
  return renderings;
}

Result<JobRecord> submit_job(const JobBook& book, const Launcher& launcher, const JobSpec& spec,
                             const Path& kedge) {
  // Whatever can be found wrong is found before anything is written.
  KEDGE_TRY(rehearse(book, launcher, spec, kedge));
  JobRecord record = KEDGE_TRY(book.add(KEDGE_TRY(with_keys(book, spec)), launcher.name()));
  auto submitted = submit_tasks(book, launcher, record, {}, kedge);
  if (!submitted) {
    Error error = std::move(submitted).error();
    if (record.submissions.size() > 1) {
      error.hint += fmt::format(
          "{}a part of the array is submitted as {}: `kedge retry {}` submits the rest, `kedge "
          "cancel {}` ends it",
          error.hint.empty() ? "" : "; ", record.key, record.key, record.key);
    } else if (error.kind == ErrorKind::Unavailable) {
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
  KEDGE_TRY(launcher->cancel(record, tasks));
  if (tasks.empty()) {
    remove_all_secrets(record.folder);
  }
  return {};
}

}  // namespace kedge::jobs
