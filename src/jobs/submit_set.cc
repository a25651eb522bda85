#include "jobs/submit_set.h"

#include <algorithm>
#include <chrono>
#include <map>

#include <fmt/format.h>

#include "core/log.h"
#include "jobs/secrets.h"
#include "jobs/submit.h"

namespace kedge::jobs {
namespace {

// Who runs a step again: the scheduler keeps the checkpoints of a job that it runs again itself, a
// step that begins anew can as well be tried by the set.
JobSpec spec_of(const SetStep& step, bool is_tried_by_set) {
  JobSpec spec = step.spec;
  spec.after.clear();
  spec.wants.retries = is_tried_by_set && !spec.is_resumable()
                           ? 0
                           : std::max<std::int64_t>(spec.wants.retries, step.step.retries);
  return spec;
}

void cancel_all(const JobBook& book, std::vector<JobRecord>& records) {
  for (JobRecord& record : records) {
    if (auto cancelled = cancel_job(book, record, {}); !cancelled) {
      warn("job {} could not be cancelled: {}", record.key, cancelled.error().message);
    }
  }
}

Result<std::vector<JobRecord>> submit_one_by_one(const JobBook& book, const Launcher& launcher,
                                                 const std::vector<SetStep>& steps,
                                                 const Path& kedge) {
  std::vector<JobRecord> records;
  std::map<std::string, std::string> keys;  // by the step's name
  for (const SetStep& step : steps) {
    JobSpec spec = spec_of(step, false);
    for (const DagAfter& after : step.step.after) {
      spec.after.push_back({.key = keys.at(after.step), .after = after.edge});
    }
    auto record = submit_job(book, launcher, spec, kedge);
    if (!record) {
      cancel_all(book, records);
      Error error = std::move(record).error();
      error.message = fmt::format("step {}: {}", step.step.name, error.message);
      return std::unexpected(std::move(error));
    }
    keys[step.step.name] = record->key;
    records.push_back(std::move(*record));
  }
  return records;
}

Result<SetJob> prepare(const JobBook& book, const Launcher& launcher, const SetStep& step,
                       const Path& kedge) {
  const JobSpec spec = spec_of(step, true);
  SetJob job{.step = step.step.name,
             .record = KEDGE_TRY(book.add(spec, launcher.name())),
             .after = step.step.after,
             .retries = spec.is_resumable() ? 0 : step.step.retries};
  const Rendering rendering = KEDGE_TRY(launcher.render(
      spec, {.key = job.record.key, .folder = job.record.folder, .kedge = kedge, .ids = {}}));
  KEDGE_TRY(write_submission(book, job.record, rendering));
  return job;
}

// The records say Prepared until the scheduler has answered for all of them at once.
Result<std::vector<JobRecord>> submit_at_once(const JobBook& book, const Launcher& launcher,
                                              const std::vector<SetStep>& steps,
                                              const Path& kedge) {
  std::vector<SetJob> jobs;
  for (const SetStep& step : steps) {
    jobs.push_back(KEDGE_TRY(prepare(book, launcher, step, kedge)));
  }
  const auto id = launcher.submit_set(jobs);
  std::vector<JobRecord> records;
  for (SetJob& job : jobs) {
    Submission& submission = job.record.submissions.back();
    submission.id = id.value_or("");
    submission.message = id ? "" : id.error().message;
    if (id || id.error().kind != ErrorKind::Unavailable) {
      submission.state = id ? SubmitState::Submitted : SubmitState::Refused;
    }
    if (submission.state == SubmitState::Refused) {
      remove_secrets(job.record.folder, submission.number);
    }
    KEDGE_TRY(book.write(job.record));
    records.push_back(std::move(job.record));
  }
  if (!id) {
    return std::unexpected(id.error());
  }
  return records;
}

}  // namespace

Result<std::vector<Rendering>> rehearse_set(const JobBook& book, const Launcher& launcher,
                                            const std::vector<SetStep>& steps, const Path& kedge) {
  std::vector<Rendering> renderings;
  for (const SetStep& step : steps) {
    auto rendering = rehearse(book, launcher, spec_of(step, launcher.takes_sets()), kedge);
    if (!rendering) {
      Error error = std::move(rendering).error();
      error.message = fmt::format("step {}: {}", step.step.name, error.message);
      return std::unexpected(std::move(error));
    }
    renderings.push_back(std::move(rendering->front()));
  }
  return renderings;
}

Result<std::vector<JobRecord>> submit_set(const JobBook& book, const Launcher& launcher,
                                          const std::vector<SetStep>& steps, const Path& kedge) {
  KEDGE_TRY(rehearse_set(book, launcher, steps, kedge));
  return launcher.takes_sets() ? submit_at_once(book, launcher, steps, kedge)
                               : submit_one_by_one(book, launcher, steps, kedge);
}

}  // namespace kedge::jobs
