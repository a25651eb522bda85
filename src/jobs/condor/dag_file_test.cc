#include "jobs/condor/dag_file.h"

#include <string>

#include <gtest/gtest.h>

namespace kedge::jobs::condor {
namespace {

DagNode node(const char* name, std::vector<DagAfter> after = {}) {
  return {.name = name,
          .folder = std::string("/j/") + name,
          .submit_file = "job-1.sub",
          .after = std::move(after)};
}

TEST(CondorDagFile, a_plain_chain_is_dagmans_own_language) {
  DagNode second = node("B", {{.step = "A"}});
  second.retries = 2;
  const auto text = render_dag({node("A"), second});
  ASSERT_TRUE(text);
  EXPECT_EQ(text->dag,
            "JOB A /j/A/job-1.sub\n"
            "SCRIPT PRE A dag-step.sh begin A /j/A\n"
            "JOB B /j/B/job-1.sub\n"
            "RETRY B 2\n"
            "SCRIPT PRE B dag-step.sh begin B /j/B\n"
            "PARENT A CHILD B\n");
}

TEST(CondorDagFile, other_edges_are_decided_by_a_script_before_each_step) {
  const auto text = render_dag({node("A"), node("B", {{.step = "A", .edge = After::Failed}})});
  ASSERT_TRUE(text);
  EXPECT_EQ(text->dag,
            "JOB A /j/A/job-1.sub\n"
            "SCRIPT PRE A dag-step.sh begin A /j/A\n"
            "JOB B /j/B/job-1.sub\n"
            "SCRIPT PRE B dag-step.sh begin B /j/B A:failed\n"
            "PRE_SKIP B 99\n"
            "PARENT A CHILD B\n"
            "SCRIPT POST A dag-step.sh end A $RETURN $RETRY $MAX_RETRIES\n"
            "SCRIPT POST B dag-step.sh end B $RETURN $RETRY $MAX_RETRIES\n"
            "FINAL outcome /j/A/job-1.sub NOOP\n"
            "SCRIPT PRE outcome dag-step.sh outcome\n");
}

TEST(CondorDagFile, a_path_with_white_space_is_refused) {
  DagNode odd = node("A");
  odd.folder = "/my jobs/A";
  EXPECT_FALSE(render_dag({odd}));
}

}  // namespace
}  // namespace kedge::jobs::condor
