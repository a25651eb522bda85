#include "jobs/container_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/scratch_folder.h"

namespace kedge::jobs {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ContainerFiles, the_base_is_the_system_of_the_build) {
  EXPECT_EQ(base_for_system("Debian GNU/Linux 12 (bookworm)").value_or(""), "debian:12-slim");
  EXPECT_EQ(base_for_system("Ubuntu 22.04.4 LTS").value_or(""), "ubuntu:22.04");
  EXPECT_FALSE(base_for_system("Plan 9"));
}

TEST(ContainerFiles, docker_gets_kedge_and_its_packages) {
  const std::string text = render_dockerfile({.base = "debian:12-slim", .about = "of run x"});
  EXPECT_EQ(text,
            "# of run x\n"
            "FROM debian:12-slim\n"
            "RUN export DEBIAN_FRONTEND=noninteractive && \\\n"
            "    apt-get update && \\\n"
            "    apt-get install -y --no-install-recommends ca-certificates libcurl4 && \\\n"
            "    rm -rf /var/lib/apt/lists/*\n"
            "COPY software /opt/kedge\n"
            "ENV PATH=/opt/kedge/bin:$PATH\n"
            "ENTRYPOINT []\n"
            "CMD [\"kedge\"]\n");
}

// Without packages nothing is run while it is built, which needs no fakeroot.
TEST(ContainerFiles, apptainer_can_do_without_a_post_section) {
  const std::string text =
      render_apptainer({.base = "debian:12-slim", .has_packages = false, .about = "x"});
  EXPECT_THAT(text, HasSubstr("Bootstrap: docker\nFrom: debian:12-slim\n"));
  EXPECT_THAT(text, HasSubstr("%files\n    software /opt/kedge\n"));
  EXPECT_THAT(text, Not(HasSubstr("%post")));
  EXPECT_THAT(text, HasSubstr("exec kedge \"$@\""));
}

TEST(ContainerFiles, a_python_environment_goes_along) {
  const ContainerPlan plan{.base = "debian:12-slim", .has_requirements = true, .about = "x"};
  EXPECT_THAT(render_dockerfile(plan), HasSubstr("pip install --no-cache-dir -r"));
  EXPECT_THAT(render_apptainer(plan), HasSubstr("requirements.txt /opt/requirements.txt"));
  EXPECT_THAT(render_dockerfile(plan), HasSubstr("ENV PATH=/opt/venv/bin:/opt/kedge/bin:$PATH"));
}

TEST(ContainerFiles, what_apptainer_builds_from) {
  const ScratchFolder folder;
  const Path tar = folder.path() / "x.tar";
  ASSERT_TRUE(write_file_atomic(tar, ""));
  EXPECT_EQ(source_for_apptainer("you/catdog:1"), "docker://you/catdog:1");
  EXPECT_EQ(source_for_apptainer("oras://you/catdog"), "oras://you/catdog");
  EXPECT_EQ(source_for_apptainer(tar.string()), "docker-archive:" + tar.string());
  EXPECT_EQ(source_for_apptainer(folder.path().string()), folder.path().string());
}

}  // namespace
}  // namespace kedge::jobs
