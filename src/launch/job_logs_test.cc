#include "launch/job_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/scratch_folder.h"

namespace kedge::launch {
namespace {

using testing::UnorderedElementsAre;

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
  std::vector<std::string> names;
  for (const LogFile& file : find_logs(record, {})) {
    names.push_back(file.path.filename().string());
  }
  EXPECT_THAT(names, UnorderedElementsAre("img-n1.12.out", "img-n2.15.out"));
}

}  // namespace
}  // namespace kedge::launch
