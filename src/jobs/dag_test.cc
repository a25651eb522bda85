#include "jobs/dag.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kedge::jobs {
namespace {

constexpr const char* kCats = R"(
name: cats
job: {queue: gpu, time: 2h}
steps:
  report: {command: [./report.sh], after: {train: any}}
  train:
    config: config.yaml
    set: [train.epochs=20, seed=1]
    after: pack
    retries: 2
    job: {gpus: 1, env: {A: b}}
  pack: {command: [tar, xf, images.tar]}
  alarm: {command: [./alarm.sh], after: {train: failed}}
)";

std::string message_of(const std::string& text) {
  const auto dag = parse_dag(text, "d.yaml");
  return dag ? "(no error)" : dag.error().message;
}

TEST(Dag, steps_come_in_an_order_in_which_they_can_run) {
  const auto dag = parse_dag(kCats, "d.yaml");
  ASSERT_TRUE(dag) << dag.error().message;
  std::vector<std::string> names;
  for (const DagStep& step : dag->steps) {
    names.push_back(step.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"pack", "train", "report", "alarm"}));
  EXPECT_FALSE(dag->is_plain());
}

TEST(Dag, a_step_has_the_files_job_section_and_its_own_behind_it) {
  const auto dag = parse_dag(kCats, "d.yaml").value();
  const DagStep& train = dag.steps[1];
  EXPECT_EQ(train.config, "config.yaml");
  EXPECT_EQ(train.set, (std::vector<std::string>{"train.epochs=20", "seed=1"}));
  EXPECT_EQ(train.job, (std::vector<std::string>{"job.queue=gpu", "job.time=2h", "job.gpus=1",
                                                 "job.env={A: b}"}));
  EXPECT_EQ(train.retries, 2);
  EXPECT_EQ(dag.steps[2].after.front().edge, After::Any);
}

TEST(Dag, mistakes_are_named_with_their_line) {
  EXPECT_EQ(message_of("steps:\n  a: {command: x, afer: b}\n"),
            "d.yaml:2: unknown key 'afer'; did you mean 'after'?");
  EXPECT_EQ(message_of("steps:\n  train: {command: x}\n  b: {command: y, after: trian}\n"),
            "d.yaml:3: unknown step 'trian'; did you mean 'train'?");
  EXPECT_EQ(message_of("steps:\n  a: {command: x, after: b}\n  b: {command: y, after: a}\n"),
            "d.yaml: steps wait for each other in a circle: a, b");
  EXPECT_EQ(message_of("steps:\n  a: {command: x, config: y}\n"),
            "d.yaml:2: step 'a' needs a config or a command");
  EXPECT_EQ(message_of("steps:\n  a: {command: x}\n  b: {command: y, after: {a: done}}\n"),
            "d.yaml:3: 'done' is none of ok, any, failed");
  EXPECT_EQ(message_of("steps:\n  a b: {command: x}\n"), "d.yaml:2: 'a b' is no name of a step");
  EXPECT_EQ(message_of("steps: {a: [\n"), "d.yaml:2: not YAML: end of sequence flow not found");
}

TEST(Dag, a_config_is_no_dag) {
  EXPECT_TRUE(looks_like_dag(kCats));
  EXPECT_FALSE(looks_like_dag("model: {name: mlp}\n"));
  EXPECT_FALSE(looks_like_dag(": : ["));
}

}  // namespace
}  // namespace kedge::jobs
