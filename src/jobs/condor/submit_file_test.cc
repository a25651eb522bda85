#include "jobs/condor/submit_file.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "core/file.h"

namespace kedge::jobs::condor {
namespace {

// Golden files are looked at by hand and read by condor_submit -dry-run in tests/condor/jobs.py;
// KEDGE_WRITE_GOLDEN=1 writes them again.
void expect_golden(const char* name, const SubmitFile& file) {
  const Path path = Path(KEDGE_FIXTURES) / "jobs" / name;
  const auto text = render(file);
  ASSERT_TRUE(text) << text.error().message;
  if (std::getenv("KEDGE_WRITE_GOLDEN") != nullptr) {
    ASSERT_TRUE(write_file_atomic(path, *text));
  }
  EXPECT_EQ(*text, read_file(path).value_or("(missing)"));
}

SubmitFile plain() {
  return {.executable = "work.sh", .log = "work.log"};
}

// The walk-through of CHTC's workshop: an image and the data from the OSDF, any GPU from 7.5 with
// 4 GB.
SubmitFile cats_and_dogs() {
  SubmitFile file{.comment = "cats and dogs",
                  .universe = Universe::Container,
                  .image = "osdf:///ospool/ap40/data/someone/catdog.sif",
                  .executable = "train.sh"};
  file.output = "$(ClusterId).out";
  file.error = "$(ClusterId).err";
  file.log = "catdog_training.log";
  file.batch_name = "cats and dogs";
  file.requests = {.cpus = 1, .memory_mb = 6144, .disk_mb = 500, .gpus = 1};
  file.gpu = {.least_capability = Capability{7, 5}, .memory_mb = 4096};
  file.transfer.inputs = {"train.py", "osdf:///ospool/ap40/data/someone/cat_dog/train.zip"};
  file.transfer.outputs = {"output"};
  file.transfer.checkpoint_files = {"output"};
  file.checkpoint_exit_code = 85;
  file.site = {.wants_gpu_lab = true, .gpu_job_length = "short", .is_resumable = true};
  return file;
}

// Everything else that a submit file of the workshops holds.
SubmitFile every_key() {
  SubmitFile file{.universe = Universe::Docker,
                  .image = "docker://pytorch/pytorch:2.9.0",
                  .docker_network = "host",
                  .executable = "/bin/bash",
                  .transfers_executable = false,
                  .arguments = {"train.sh", "--lr", "$(lr)", "two words", "it's", "say \"hi\"", "",
                                "$HOME", "$(undeclared)"},
                  .environment = {{"OMP_NUM_THREADS", "4"}, {"NOTE", "a b"}},
                  .initial_folder = "state-$(state)"};
  file.output = "out.$(ClusterId).$(ProcId)";
  file.error = "err.$(ClusterId).$(ProcId)";
  file.log = "all.log";
  file.streams_output = true;
  file.streams_error = true;
  file.batch_name = "grid";
  file.accounting_group = "physics";
  file.requests = {
      .cpus = 4, .memory_mb = 2048, .disk_mb = 500, .gpus = 2, .can_be_overridden = true};
  file.gpu = {.least_capability = Capability{7, 0},
              .most_capability = Capability{9, 0},
              .memory_mb = 20000,
              .expressions = {"DriverVersion >= 11.1", "Capability < 8"}};
  file.requirements = {"Target.HasCHTCStaging", "OpSysMajorVer > 8"};
  file.transfer.inputs = {"file:///staging/someone/data.tar", "http://proxy.example.org/squid/x"};
  file.transfer.outputs = {"results.csv"};
  file.transfer.output_names = {{"results.csv", "results-$(ProcId).csv"}};
  file.transfer.also_when_evicted = false;
  file.max_retries = 3;
  file.max_materialize = 8;
  file.allowed_execute_s = 43200;
  file.allowed_job_s = 86400;
  file.max_vacate_s = 120;
  file.periodic_remove = "JobStatus == 5 && HoldReasonCode == 47";
  file.site = {.gpu_job_length = "long",
               .wants_flocking = true,
               .wants_glidein = false,
               .wants_campus_pools = true,
               .wants_ospool = false};
  file.attributes = {{"KedgeMark", class_ad_string("kedge:k3y/1")}};
  file.lines = {"concurrency_limits = licence:2"};
  file.queue = {.kind = QueueKind::FromRows,
                .variables = {"lr", "state"},
                .rows = {{"0.1", "Wisconsin"}, {"0.01", "New York"}}};
  return file;
}

TEST(CondorSubmitFile, cats_and_dogs_as_the_workshop_writes_it) {
  expect_golden("condor_cats_and_dogs.sub", cats_and_dogs());
}

TEST(CondorSubmitFile, every_key_of_the_workshops) {
  expect_golden("condor_every_key.sub", every_key());
}

TEST(CondorSubmitFile, jobs_are_counted_listed_matched_or_read_from_a_file) {
  const auto queue = [](Queue statement) {
    SubmitFile file = plain();
    file.queue = std::move(statement);
    const std::string text = render(file).value();
    return text.substr(text.find("queue"));
  };
  EXPECT_EQ(queue({}), "queue\n");
  EXPECT_EQ(queue({.count = 5}), "queue 5\n");
  EXPECT_EQ(queue({.kind = QueueKind::FromFile, .variables = {"state", "year"}, .file = "l.txt"}),
            "queue state,year from l.txt\n");
  EXPECT_EQ(queue({.kind = QueueKind::In, .variables = {"s"}, .items = {"a", "b"}}),
            "queue s in (\n  a\n  b\n)\n");
  EXPECT_EQ(
      queue({.kind = QueueKind::Matching, .count = 2, .variables = {"f"}, .items = {"*.dat"}}),
      "queue 2 f matching files (\n  *.dat\n)\n");
}

TEST(CondorSubmitFile, both_spellings_of_the_backfill_flag_are_written) {
  SubmitFile file = plain();
  file.site.is_resumable = true;
  const std::string text = render(file).value();
  EXPECT_NE(text.find("\n+is_resumable = true\n"), std::string::npos);
  EXPECT_NE(text.find("\n+IsResumable = true\n"), std::string::npos);
}

TEST(CondorSubmitFile, what_it_cannot_say_is_refused) {
  const auto refuses = [](auto change) {
    SubmitFile file = plain();
    change(file);
    const auto text = render(file);
    return !text && text.error().kind == ErrorKind::Usage;
  };
  EXPECT_TRUE(refuses([](SubmitFile& file) { file.arguments = {"two\nlines"}; }));
  EXPECT_TRUE(refuses([](SubmitFile& file) { file.arguments = {"$$(Memory)"}; }));
  EXPECT_TRUE(refuses([](SubmitFile& file) { file.executable = "odd\\"; }));
  EXPECT_TRUE(refuses([](SubmitFile& file) { file.transfer.inputs = {"a,b.txt"}; }));
  EXPECT_TRUE(refuses([](SubmitFile& file) {
    file.queue = {.kind = QueueKind::FromRows, .variables = {"a", "b"}, .rows = {{"x y", "z"}}};
  }));
}

TEST(CondorSubmitFile, class_ad_strings_escape_quotes_and_backslashes) {
  EXPECT_EQ(class_ad_string(R"(a "b" \c)"), R"("a \"b\" \\c")");
}

}  // namespace
}  // namespace kedge::jobs::condor
