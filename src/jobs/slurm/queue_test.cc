#include "jobs/slurm/queue.h"

#include <string>

#include <gtest/gtest.h>

#include "core/file.h"
#include "jobs/slurm/accounting.h"
#include "jobs/slurm/refusal.h"
#include "jobs/slurm/script.h"

namespace kedge::jobs::slurm {
namespace {

// The fixtures are what squeue of 22.05.8 and of 24.11.5 printed, with fewer fields.
std::vector<QueuedJob> read_fixture(const std::string& name) {
  const auto text = read_file(Path(KEDGE_FIXTURES) / "jobs" / name);
  EXPECT_TRUE(text) << name;
  auto jobs = parse_queue_json(text.value_or(""));
  EXPECT_TRUE(jobs);
  return jobs.value_or(std::vector<QueuedJob>());
}

TEST(SlurmQueue, the_json_of_22_05_is_read) {
  const auto jobs = read_fixture("squeue_22.05.json");
  ASSERT_EQ(jobs.size(), 7U);
  EXPECT_EQ(jobs[0].id, "1");
  EXPECT_TRUE(jobs[0].tasks.empty());
  EXPECT_EQ(jobs[0].status.state, TaskState::Done);
  EXPECT_EQ(jobs[1].id, "2");  // the array's
  EXPECT_EQ(jobs[1].tasks, std::vector<std::int64_t>{1});
  EXPECT_EQ(jobs[2].status.state, TaskState::Failed);
  EXPECT_EQ(jobs[2].status.exit_code, 3);  // 768 is 3 * 256
  EXPECT_EQ(jobs[3].status.state, TaskState::Cancelled);
  EXPECT_EQ(jobs[4].status.state, TaskState::TimedOut);
  EXPECT_EQ(jobs[4].status.exit_code, 128 + 9);
  EXPECT_EQ(jobs[5].status.state, TaskState::Running);
  EXPECT_EQ(jobs[5].mark, "");  // a comment of somebody else's
  EXPECT_EQ(jobs[6].status.state, TaskState::Waiting);
  EXPECT_EQ(jobs[6].status.reason, "JobArrayTaskLimit");
}

TEST(SlurmQueue, the_json_of_24_11_is_read) {
  const auto jobs = read_fixture("squeue_24.11.json");
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].id, "15");
  EXPECT_EQ(jobs[0].tasks, std::vector<std::int64_t>{1});
  EXPECT_EQ(jobs[0].status.state, TaskState::Running);
  EXPECT_EQ(jobs[0].status.started_s, 1794710154);
  EXPECT_EQ(jobs[0].status.ended_s, 0);  // the end of its limit is a plan
  EXPECT_EQ(jobs[1].tasks, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(jobs[1].status.state, TaskState::Waiting);
}

TEST(SlurmQueue, columns_are_read_where_there_is_no_json) {
  const auto jobs = parse_queue_text(
      "30|2-3%1|PENDING|JobArrayTaskLimit||2026-11-15T10:00:00|N/A|N/A|me|img|kedge:abc/1\n"
      "31|N/A|RUNNING|None|n1|2026-11-15T10:00:00|2026-11-15T10:01:00|2026-11-15T11:01:00|me|x|"
      "(null)\n");
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].tasks, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(jobs[0].mark, "kedge:abc/1");
  EXPECT_EQ(jobs[1].status.node, "n1");
  EXPECT_EQ(jobs[1].mark, "");
  EXPECT_EQ(jobs[1].status.started_s, 1794736860);  // date -u -d 2026-11-15T10:01:00 +%s
}

TEST(SlurmQueue, garbage_is_corrupt_and_not_empty) {
  EXPECT_FALSE(parse_queue_json(""));
  EXPECT_FALSE(parse_queue_json("{\"jobs\": 3}"));
  EXPECT_TRUE(parse_queue_json("{\"jobs\": [3, {}]}"));
}

// What squeue 22.05.8 prints, with exit code 0, while its controller is down.
TEST(SlurmQueue, an_error_in_the_json_is_not_an_empty_queue) {
  EXPECT_FALSE(parse_queue_json(
      R"({"errors": [{"description": "Failed while looking for jobs", "error_number": -1,
          "error": "Unspecified error", "source": "slurm_load_jobs"}], "jobs": []})"));
}

TEST(SlurmQueue, lists_of_tasks_are_read_and_written) {
  EXPECT_EQ(parse_task_list("0,2-4%2"), (std::vector<std::int64_t>{0, 2, 3, 4}));
  EXPECT_EQ(parse_task_list("0-6:3"), (std::vector<std::int64_t>{0, 3, 6}));
  EXPECT_EQ(parse_task_list("1,3,..."), (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(render_task_list({5, 0, 1, 2}), "0-2,5");
}

// Lines of sacct 22.05.8; an array task with its steps, and one that has not started.
TEST(SlurmAccounting, steps_bring_the_memory_of_their_job) {
  const auto jobs = parse_accounting(
      "12_3|img|COMPLETED|0:0|65|01:02.500||2|billing=2,cpu=2,gres/gpu=1,mem=200M,node=2|10|n1|"
      "2026-11-15T10:00:00|2026-11-15T10:01:00|2026-11-15T10:02:05|kedge:abc/1\n"
      "12_3.batch|batch|COMPLETED|0:0|65|00:00.500|3024K|1|cpu=1,mem=100M,node=1||n1|"
      "2026-11-15T10:01:00|2026-11-15T10:01:00|2026-11-15T10:02:05|\n"
      "12_3.0|x|COMPLETED|0:0|60|01:02|1.5M|2|cpu=2,mem=200M,node=2||n[1-2]|"
      "2026-11-15T10:01:00|2026-11-15T10:01:00|2026-11-15T10:02:05|\n"
      "12_[4-9%2]|img|PENDING|0:0|0|00:00:00||0||10|None assigned|"
      "2026-11-15T10:00:00|Unknown|Unknown|\n");
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].id, "12");
  EXPECT_EQ(jobs[0].task, 3);
  const Usage& usage = jobs[0].status.usage;
  EXPECT_EQ(usage.memory_bytes, 3024U * 1024);
  EXPECT_EQ(usage.cpu_s, 62.5);
  EXPECT_EQ(usage.elapsed_s, 65);
  EXPECT_EQ(usage.gpus, 1);
  EXPECT_EQ(usage.memory_limit_bytes, 100U << 20U);  // 200M over two nodes
  EXPECT_EQ(usage.time_limit_s, 600);
}

TEST(SlurmAccounting, durations_and_sizes_are_slurms) {
  EXPECT_EQ(parse_duration("1-02:03:04"), 93784);
  EXPECT_EQ(parse_duration("02:03.250"), 123.25);
  EXPECT_FALSE(parse_duration("INVALID"));
  EXPECT_EQ(parse_size("1.5G"), 1610612736U);
  EXPECT_EQ(parse_size("0"), 0U);
  EXPECT_FALSE(parse_size("12Q"));
}

TEST(SlurmRefusal, a_controller_that_is_away_is_not_a_refusal) {
  const Error away = explain_refusal(
      "sbatch",
      {.exit_code = 1,
       .output = "",
       .errors = "sbatch: error: Batch job submission failed: Unable to contact slurm controller "
                 "(connect failure)\n"});
  EXPECT_EQ(away.kind, ErrorKind::Unavailable);
  // What 22.05 prints while its controller starts.
  EXPECT_EQ(explain_refusal("scontrol", {.exit_code = 1,
                                         .output = "",
                                         .errors = "scontrol: error: Unexpected message "
                                                   "received\n"})
                .kind,
            ErrorKind::Unavailable);
  const Error refused = explain_refusal(
      "sbatch", {.exit_code = 1,
                 .output = "",
                 .errors = "sbatch: error: invalid partition specified: nowhere\nsbatch: error: "
                           "Batch job submission failed: Invalid partition name specified\n"});
  EXPECT_EQ(refused.kind, ErrorKind::Usage);
  EXPECT_EQ(refused.message,
            "sbatch refused: invalid partition specified: nowhere; Invalid partition name "
            "specified");
  EXPECT_NE(refused.hint.find("sinfo -s"), std::string::npos);
}

}  // namespace
}  // namespace kedge::jobs::slurm
