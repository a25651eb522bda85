#include "jobs/in_container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

JobSpec spec_for(const std::string& image) {
  JobSpec spec;
  spec.folder = "/data/ada";
  spec.wants.container = image;
  return spec;
}

SubmissionPlace some_place() {
  SubmissionPlace place;
  place.folder = "/data/ada/jobs/k";
  place.kedge = "/opt/tools/kedge";
  return place;
}

// The image's own kedge has its libtorch beside it; the one outside may not find its own inside.
TEST(InContainer, the_images_own_kedge_comes_first) {
  const auto words = in_container(spec_for("catdog.sif"), some_place(),
                                  {"/opt/tools/kedge", "task", "--", "/opt/tools/kedge", "train"});
  EXPECT_THAT(words, ElementsAre("apptainer", "exec", "--bind", "/data/ada:/data/ada", "--bind",
                                 "/data/ada/jobs/k:/data/ada/jobs/k", "--bind",
                                 "/opt/tools:/opt/tools", "--pwd", "/data/ada", "catdog.sif",
                                 "/bin/sh", "-c", "PATH=$PATH:/opt/tools; export PATH; exec \"$@\"",
                                 "sh", "kedge", "task", "--", "kedge", "train"));
}

TEST(InContainer, docker_gets_variables_by_name_alone) {
  JobSpec spec = spec_for("you/catdog:1");
  spec.wants.container_tool = config::ContainerTool::Docker;
  const auto words = in_container(spec, some_place(), {"/opt/tools/kedge", "task"});
  ASSERT_GT(words.size(), 4U);
  EXPECT_THAT(words[2], HasSubstr("docker run"));
  EXPECT_THAT(words[2], HasSubstr("s/^/--env=/"));
  EXPECT_THAT(words[2], HasSubstr("--user=\"$(id -u):$(id -g)\""));
}

TEST(InContainer, the_tool_follows_the_image) {
  using config::ContainerTool;
  EXPECT_EQ(container_tool(spec_for("torch.sqsh"), true), ContainerTool::Pyxis);
  EXPECT_EQ(container_tool(spec_for("you/catdog:1"), true), ContainerTool::Pyxis);
  EXPECT_EQ(container_tool(spec_for("you/catdog:1"), false), ContainerTool::Apptainer);
  EXPECT_EQ(container_tool(spec_for("catdog.sif"), true), ContainerTool::Apptainer);
}

}  // namespace
}  // namespace kedge::jobs
