#include "jobs/job_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/scratch_folder.h"
#include "jobs/condor/submission.h"

namespace kedge::jobs {
namespace {

using testing::UnorderedElementsAre;

std::vector<std::string> names_of(const std::vector<LogFile>& files) {
  std::vector<std::string> names;
  for (const LogFile& file : files) {
    names.push_back(file.path.filename().string());
  }
  return names;
}

// job.output=img-%N.%j.out: the files of all jobs lie in one folder.
TEST(JobLogs, files_of_other_jobs_are_not_ours) {
  const ScratchFolder folder;
  JobRecord record{.key = "k7f3q2", .launcher = "slurm", .spec = {}, .host = "login"};
  record.folder = folder.path() / "jobs" / "k7f3q2";
  record.submissions = {{.number = 1, .state = SubmitState::Submitted, .id = "12"}};
  record.submissions[0].output = (folder.path() / "img-{node}.{job}.out").string();
  ASSERT_TRUE(make_dirs(record.folder / "ends"));
  // A chain: 15 followed 12.
  ASSERT_TRUE(write_file_atomic(record.folder / "ends" / "0",
                                "start 1 100 n1 12\nend 1 160 85\nstart 1 200 n2 15\n"));
  for (const char* name : {"img-n1.12.out", "img-n2.15.out", "img-n1.13.out", "img-n1.1.out"}) {
    ASSERT_TRUE(write_file_atomic(folder.path() / name, "x\n"));
  }
  EXPECT_THAT(names_of(find_logs(record, {})),
              UnorderedElementsAre("img-n1.12.out", "img-n2.15.out"));
}

// A step of a DAG was submitted twice, as 8 and 11; the log is in HTCondor's words.
TEST(JobLogs, files_of_other_clusters_are_not_ours) {
  const ScratchFolder folder;
  JobRecord record{.key = "k7f3q2", .launcher = "condor", .spec = {}, .host = "login"};
  record.folder = folder.path() / "jobs" / "k7f3q2";
  record.submissions = {{.number = 1, .state = SubmitState::Submitted, .id = "7.0"}};
  record.submissions[0].output = (folder.path() / "img-{job}.out").string();
  ASSERT_TRUE(make_dirs(record.folder));
  ASSERT_TRUE(write_file_atomic(
      record.folder / condor::user_log_name(1),
      "000 (008.000.000) 2026-11-16 10:00:00 Job submitted from host: <127.0.0.1:9618>\n...\n"
      "009 (008.000.000) 2026-11-16 10:01:00 Job was aborted.\n...\n"
      "000 (011.000.000) 2026-11-16 10:02:00 Job submitted from host: <127.0.0.1:9618>\n...\n"));
  for (const char* name : {"img-8.out", "img-11.out", "img-9.out", "img-1.out"}) {
    ASSERT_TRUE(write_file_atomic(folder.path() / name, "x\n"));
  }
  EXPECT_THAT(names_of(find_logs(record, {})), UnorderedElementsAre("img-8.out", "img-11.out"));
}

}  // namespace
}  // namespace kedge::jobs
