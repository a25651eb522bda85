// Submitting, looking and cancelling over any launcher, through the job book: nothing runs twice,
// nothing is forgotten.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "jobs/job_book.h"
#include "jobs/launcher.h"

namespace kedge::jobs {

// What would be submitted, under the key "KEY"; nothing is written. Several for an array that is
// too large for the scheduler.
Result<std::vector<Rendering>> rehearse(const JobBook& book, const Launcher& launcher,
                                        const JobSpec& spec, const Path& kedge);

// Writes the record, the files, calls the scheduler, writes the record again. An error of kind
// Unavailable leaves the job in the book, as Prepared: settle() or retry() goes on with it.
Result<JobRecord> submit_job(const JobBook& book, const Launcher& launcher, const JobSpec& spec,
                             const Path& kedge);

// Writes the files and the record with this submission, Prepared; the scheduler comes next. Its
// number, time and output are filled in.
Result<void> write_submission(const JobBook& book, JobRecord& record, const Rendering& rendering,
                              Submission submission = {});

// Runs these tasks again (empty: all) as another submission of the same job.
Result<void> submit_again(const JobBook& book, const Launcher& launcher, JobRecord& record,
                          const std::vector<std::int64_t>& tasks, const Path& kedge);

// For a record that is Prepared and whose submitter is gone: takes the id of what the scheduler
// has, or marks the submission Refused ("it never reached the scheduler").
Result<void> settle(const JobBook& book, const Launcher& launcher, JobRecord& record);

struct JobView {
  JobRecord record;
  std::vector<TaskStatus> tasks;
  std::string problem;  // why the scheduler could not be asked
};

// All jobs of the book with their tasks; what has ended for good is noted in the book. A scheduler
// that is away costs only the news of its own jobs.
std::vector<JobView> look_at_jobs(const JobBook& book, std::vector<JobRecord> records);

Result<void> cancel_job(const JobBook& book, JobRecord& record,
                        const std::vector<std::int64_t>& tasks);

}  // namespace kedge::jobs
