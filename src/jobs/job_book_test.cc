#include "jobs/job_book.h"

#include <cstdio>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/scratch_folder.h"
#include "core/small_disk.h"
#include "jobs/job_ends.h"
#include "jobs/shell_text.h"
#include "jobs/usage_report.h"

namespace kedge::jobs {
namespace {

JobSpec some_spec() {
  JobSpec spec{.name = "img",
               .command = {"/bin/sh", "-c", "echo 'it''s' {task}"},
               .folder = "/",
               .wants = {}};
  spec.tasks = 3;
  spec.items = {"a", "b b", "c"};
  spec.wants.cpus = 7;
  spec.wants.time = {5400};
  spec.wants.setup = {"module purge", "echo \"x: y\""};
  spec.wants.env = {{"A", "1"}};
  spec.after = {{"other", After::Failed}};
  spec.files = {{"config.yaml", "seed: 1\n"}};
  return spec;
}

TEST(JobBook, a_record_comes_back_as_it_was_written) {
  const ScratchFolder folder;
  const JobBook book(folder / "jobs");
  auto record = book.add(some_spec(), "slurm");
  ASSERT_TRUE(record);
  record->submissions.push_back({.number = 1,
                                 .state = SubmitState::Submitted,
                                 .tasks = {1, 2},
                                 .id = "12",
                                 .prepared_s = 99,
                                 .output = "/x/{task}.log"});
  record->ended.push_back({.task = 1, .state = TaskState::TimedOut, .exit_code = 137});
  ASSERT_TRUE(book.write(*record));
  const auto back = book.read(record->key);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(to_json(*back), to_json(*record));
  EXPECT_EQ(back->spec.wants.setup, some_spec().wants.setup);
  EXPECT_EQ(back->spec.wants.time.value, 5400);
  EXPECT_EQ(back->ended.front().exit_code, 137);
}

TEST(JobBook, jobs_are_found_by_key_beginning_name_and_id) {
  const ScratchFolder folder;
  const JobBook book(folder / "jobs");
  auto record = book.add(some_spec(), "local");
  ASSERT_TRUE(record);
  record->submissions.push_back({.state = SubmitState::Submitted, .id = "4711"});
  ASSERT_TRUE(book.write(*record));
  for (const std::string& word :
       {record->key, record->key.substr(0, 3), std::string("img"), std::string("4711")}) {
    const auto found = book.find(word);
    ASSERT_TRUE(found) << word;
    EXPECT_EQ(found->key, record->key);
  }
  EXPECT_FALSE(book.find("nothing"));
  EXPECT_FALSE(book.find(""));
}

TEST(JobBook, a_task_belongs_to_the_last_submission_that_was_not_refused) {
  JobRecord record{.key = "k", .launcher = "slurm", .spec = some_spec(), .host = "h"};
  record.submissions = {
      {.number = 1, .state = SubmitState::Submitted},
      {.number = 2, .state = SubmitState::Submitted, .tasks = {1}},
      {.number = 3, .state = SubmitState::Refused, .tasks = {1}},
  };
  EXPECT_EQ(record.responsible(0)->number, 1);
  EXPECT_EQ(record.responsible(1)->number, 2);
}

TEST(JobBook, a_full_disk_leaves_no_half_of_a_job) {
  const SmallDisk disk(8);
  if (!disk.is_mounted()) {
    GTEST_SKIP() << "mounting needs root";
  }
  ASSERT_TRUE(write_file_atomic(disk.path() / "fill", std::string(4096, 'x')));
  const JobBook book(disk.path() / "jobs");
  JobSpec spec = some_spec();
  spec.files["config.yaml"] = std::string(9000, 'y');
  EXPECT_FALSE(book.add(spec, "local"));
  EXPECT_TRUE(book.read_all().empty());
}

TEST(JobBook, only_one_process_submits_a_job_at_a_time) {
  const ScratchFolder folder;
  auto first = SubmitLock::take(folder.path());
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->has_value());
  const auto second = SubmitLock::take(folder.path());
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->has_value());
  first->reset();
  EXPECT_TRUE(SubmitLock::take(folder.path())->has_value());
}

// A slow sbatch outlives the kedge that was killed, and may hand the job over after it.
TEST(SubmitLock, is_held_while_a_program_lives_that_the_submitter_started) {
  const ScratchFolder folder;
  auto lock = SubmitLock::take(folder.path());
  ASSERT_TRUE(lock && *lock);
  FILE* const program = ::popen("read line", "w");
  lock->reset();
  EXPECT_FALSE(SubmitLock::take(folder.path())->has_value());
  ::pclose(program);
  EXPECT_TRUE(SubmitLock::take(folder.path())->has_value());
}

TEST(JobEnds, the_last_start_and_end_count) {
  const std::string text =
      "start 1 100 n1 12\nend 1 130 85\nstart 1 140 n2 12\nend 1 150 0\nstart 2 200 n3 13\nend 2";
  const auto first = parse_job_ends(text, 1);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->state, TaskState::Done);
  EXPECT_EQ(first->node, "n2");
  EXPECT_EQ(first->restarts, 1);
  EXPECT_EQ(first->usage.elapsed_s, 10);
  const auto second = parse_job_ends(text, 2);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->state, TaskState::Running);  // its end was cut off by a crash
  EXPECT_FALSE(parse_job_ends(text, 3));
}

TEST(JobEnds, what_nobody_knows_is_lost_only_when_the_scheduler_was_asked) {
  const ScratchFolder folder;
  JobRecord record{.key = "k", .launcher = "slurm", .spec = some_spec(), .host = "h"};
  record.spec.tasks = 0;
  record.folder = folder.path();
  record.submissions = {{.number = 1, .state = SubmitState::Submitted, .id = "12"}};
  EXPECT_EQ(complete_statuses(record, {}, true).front().state, TaskState::Lost);
  EXPECT_EQ(complete_statuses(record, {}, false).front().state, TaskState::Waiting);
  record.is_cancelled = true;
  EXPECT_EQ(complete_statuses(record, {}, true).front().state, TaskState::Cancelled);
}

TEST(ShellText, words_come_back_through_a_shell) {
  EXPECT_EQ(quote_for_shell("plain-1.0/x=y"), "plain-1.0/x=y");
  EXPECT_EQ(quote_for_shell("it's"), "'it'\\''s'");
  EXPECT_EQ(quote_for_shell(""), "''");
  EXPECT_EQ(quote_for_shell("$x *"), "'$x *'");
}

TEST(JobSpec, secrets_are_known_by_their_names) {
  for (const char* name : {"WANDB_API_KEY", "HF_TOKEN", "aws_secret_access_key", "MY_PASSWORD"}) {
    EXPECT_TRUE(is_secret_name(name)) << name;
  }
  for (const char* name : {"PATH", "TOKENIZERS_PARALLELISM", "KEDGE_TOKEN_FILE", "KEYBOARD"}) {
    EXPECT_FALSE(is_secret_name(name)) << name;
  }
}

// seff's example: 4 cores for 100 s and 100 CPU seconds is 25 %.
TEST(UsageReport, efficiency_is_used_over_held) {
  const Efficiency efficiency = efficiency_of({.elapsed_s = 100,
                                               .cpu_s = 100,
                                               .memory_bytes = 1U << 30U,
                                               .cpus = 4,
                                               .memory_limit_bytes = 4ULL << 30U,
                                               .time_limit_s = 1000});
  EXPECT_EQ(efficiency.cpu, 0.25);
  EXPECT_EQ(efficiency.memory, 0.25);
  EXPECT_EQ(efficiency.time, 0.1);
}

TEST(UsageReport, too_much_and_too_little_are_said) {
  config::JobConfig wants;
  wants.memory = {6'000'000'000};
  wants.cpus = 8;
  wants.time = {12 * 3600};
  TaskStatus task{.state = TaskState::Done};
  task.usage = {.elapsed_s = 3600, .cpu_s = 3600, .memory_bytes = 1'200'000'000};
  const auto lines = suggest_requests(wants, {task});
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_NE(lines[0].find("job.memory=1500MB"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("job.cpus=1"), std::string::npos) << lines[1];
  EXPECT_NE(lines[2].find("job.time=90m"), std::string::npos) << lines[2];
  task.state = TaskState::Failed;
  EXPECT_TRUE(suggest_requests(wants, {task}).empty());
}

}  // namespace
}  // namespace kedge::jobs
