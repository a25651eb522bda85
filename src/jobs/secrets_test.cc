#include "jobs/secrets.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/scratch_folder.h"
#include "jobs/submit.h"

namespace kedge::jobs {
namespace {

class SecretsTest : public testing::Test {
 protected:
  SecretsTest() {
    for (const auto& [name, value] : shell_) {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
  }

  ~SecretsTest() override {
    for (const auto& [name, value] : shell_) {
      ::unsetenv(name.c_str());
    }
    ::unsetenv("KEDGE_HIDDEN");
  }

  static JobSpec program() {
    JobSpec spec{.name = "w", .command = {"/bin/true"}, .folder = "/", .wants = {}};
    spec.keys = tracker_keys();
    return spec;
  }

  // A local job that was submitted and whose supervisor is gone.
  Result<JobRecord> submitted_job() const {
    JobRecord record = KEDGE_TRY(book_.add(program(), "local"));
    Rendering rendering;
    rendering.secrets = secrets_of(record.spec);
    KEDGE_TRY(write_submission(book_, record, rendering));
    record.submissions.back().state = SubmitState::Submitted;
    KEDGE_TRY(book_.write(record));
    return record;
  }

  static mode_t mode_of(const Path& path) {
    struct stat info{};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 0777U;
  }

  const std::map<std::string, std::string> shell_ = {{"WANDB_API_KEY", "key of wandb"},
                                                     {"HF_TOKEN", "it's a token"},
                                                     {"AWS_SECRET_ACCESS_KEY", "of the cloud"},
                                                     {"LAB_DATABASE", "postgres://me:pw@host"}};
  ScratchFolder folder_;
  JobBook book_ = JobBook(folder_ / "jobs");
};

TEST_F(SecretsTest, a_job_is_handed_what_is_named_and_the_keys_of_trackers) {
  JobSpec spec = program();
  spec.wants.secrets = {"HF_TOKEN"};
  ASSERT_TRUE(write_secrets(folder_.path(), 3, secrets_of(spec)));
  EXPECT_EQ(read_file(folder_ / "secrets-3.sh").value_or(""),
            "export HF_TOKEN='it'\\''s a token'\n"
            "export WANDB_API_KEY='key of wandb'\n"
            "export KEDGE_HIDDEN='HF_TOKEN WANDB_API_KEY'\n");
  const auto kept_back = secrets_kept_back(secrets_of(spec));
  EXPECT_NE(std::ranges::find(kept_back, "AWS_SECRET_ACCESS_KEY"), kept_back.end());
  EXPECT_EQ(std::ranges::find(kept_back, "HF_TOKEN"), kept_back.end());
}

TEST_F(SecretsTest, a_training_without_a_server_is_handed_nothing) {
  JobSpec spec = program();
  spec.keys = {};
  ASSERT_TRUE(write_secrets(folder_.path(), 1, secrets_of(spec)));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "secrets-1.sh"));
}

TEST_F(SecretsTest, a_name_that_is_not_set_is_an_error) {
  JobSpec spec = program();
  spec.wants.secrets = {"HF_TOKEN", "NO_SUCH_TOKEN"};
  const auto checked = check_secrets(spec);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("NO_SUCH_TOKEN"), std::string::npos);
}

TEST_F(SecretsTest, a_value_in_place_of_a_name_is_an_error) {
  JobSpec spec = program();
  spec.wants.secrets = {"hf_abc=123"};
  EXPECT_FALSE(check_spec(spec));
}

TEST_F(SecretsTest, only_the_owner_can_read_the_file_whatever_the_umask) {
  for (const mode_t mask : {0000U, 0022U, 0077U, 0777U}) {
    const mode_t before = ::umask(mask);
    const auto written = write_secrets(folder_.path(), 1, {"HF_TOKEN"});
    ::umask(before);
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(mode_of(folder_ / "secrets-1.sh"), 0600U) << mask;
  }
}

// Somebody who had opened it before must not read what comes later.
TEST_F(SecretsTest, a_file_that_is_there_is_replaced_not_written_to) {
  const Path path = folder_ / "secrets-1.sh";
  const Path beside = path.string() + ".tmp" + std::to_string(::getpid());
  ASSERT_TRUE(write_file_atomic(beside, ""));
  const OwnedFd spy(::open(beside.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(write_secrets(folder_.path(), 1, {"HF_TOKEN"}));
  char byte = 0;
  EXPECT_EQ(::read(spy.get(), &byte, 1), 0);
}

TEST_F(SecretsTest, others_cannot_enter_the_jobs_folder) {
  const mode_t before = ::umask(0);
  const auto record = submitted_job();
  ::umask(before);
  ASSERT_TRUE(record);
  EXPECT_EQ(mode_of(record->folder), 0700U);
  EXPECT_EQ(mode_of(record->folder / "secrets-1.sh"), 0600U);
}

TEST_F(SecretsTest, a_cancelled_job_keeps_no_keys) {
  auto record = submitted_job();
  ASSERT_TRUE(record);
  ASSERT_TRUE(write_file_atomic(record->folder / "secrets-2.sh.tmp77", "left by a crash"));
  ASSERT_TRUE(cancel_job(book_, *record, {}));
  EXPECT_FALSE(std::filesystem::exists(record->folder / "secrets-1.sh"));
  EXPECT_FALSE(std::filesystem::exists(record->folder / "secrets-2.sh.tmp77"));
}

TEST_F(SecretsTest, a_job_that_nobody_runs_any_more_keeps_no_keys) {
  const auto record = submitted_job();
  ASSERT_TRUE(record);
  ASSERT_TRUE(std::filesystem::exists(record->folder / "secrets-1.sh"));
  EXPECT_EQ(look_at_jobs(book_, {*record}).front().tasks.front().state, TaskState::Lost);
  EXPECT_FALSE(std::filesystem::exists(record->folder / "secrets-1.sh"));
}

TEST_F(SecretsTest, what_a_job_was_handed_is_hidden_whatever_its_name) {
  EXPECT_FALSE(find_secrets().contains("LAB_DATABASE"));
  ::setenv("KEDGE_HIDDEN", "LAB_DATABASE HF_TOKEN", 1);
  EXPECT_EQ(hide_secrets("to postgres://me:pw@host now", find_secrets()), "to *** now");
}

TEST_F(SecretsTest, schedulers_see_no_secret_and_nothing_that_is_named) {
  const auto words = without_secrets({"sbatch", "x"}, {"LAB_DATABASE"});
  EXPECT_EQ(words.front(), "env");
  for (const char* name : {"HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "LAB_DATABASE"}) {
    const auto found = std::ranges::find(words, name);
    ASSERT_NE(found, words.end()) << name;
    EXPECT_EQ(*(found - 1), "-u");
  }
  EXPECT_EQ(words.back(), "x");
}

}  // namespace
}  // namespace kedge::jobs
