#include "jobs/slurm/host_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge::jobs::slurm {
namespace {

using testing::ElementsAre;

std::vector<std::string> expand(std::string_view text) {
  const auto hosts = expand_host_list(text);
  return hosts ? *hosts : std::vector<std::string>{hosts.error().message};
}

// The expected lists are what `scontrol show hostnames` prints.
TEST(HostList, expands_as_scontrol_does) {
  EXPECT_THAT(expand("node1"), ElementsAre("node1"));
  EXPECT_THAT(expand("a,b"), ElementsAre("a", "b"));
  EXPECT_THAT(expand("gpu[01-03,07],login"),
              ElementsAre("gpu01", "gpu02", "gpu03", "gpu07", "login"));
  EXPECT_THAT(expand("n[9-11]"), ElementsAre("n9", "n10", "n11"));
  EXPECT_THAT(expand("r[1-2]n[1-2]"), ElementsAre("r1n1", "r1n2", "r2n1", "r2n2"));
  EXPECT_THAT(expand("n[001-002].site"), ElementsAre("n001.site", "n002.site"));
}

TEST(HostList, refuses_what_is_no_list) {
  for (const char* text : {"", "a,,b", "n[1-", "n[3-1]", "n[]", "n[a-b]", "n[0-999999999]"}) {
    EXPECT_FALSE(expand_host_list(text)) << text;
  }
}

}  // namespace
}  // namespace kedge::jobs::slurm
