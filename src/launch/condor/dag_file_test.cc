#include "launch/condor/dag_file.h"

#include <string>

#include <gtest/gtest.h>

namespace kedge::launch::condor {
namespace {

TEST(CondorDagFile, a_plain_chain_is_dagmans_own_language) {
  const auto text = render_dag(
      {{.name = "A", .submit_file = "/j/a.sub"},
       {.name = "B", .submit_file = "/j/b.sub", .retries = 2, .after = {{.step = "A"}}}});
  ASSERT_TRUE(text);
  EXPECT_EQ(text->dag,
            "JOB A /j/a.sub\n"
            "JOB B /j/b.sub\n"
            "RETRY B 2\n"
            "PARENT A CHILD B\n");
  EXPECT_EQ(text->script, "");
}

TEST(CondorDagFile, other_edges_are_decided_by_a_script_before_each_step) {
  const auto text = render_dag(
      {{.name = "A", .submit_file = "/j/a.sub"},
       {.name = "B", .submit_file = "/j/b.sub", .after = {{.step = "A", .edge = After::Failed}}}});
  ASSERT_TRUE(text);
  EXPECT_EQ(text->dag,
            "JOB A /j/a.sub\n"
            "JOB B /j/b.sub\n"
            "PARENT A CHILD B\n"
            "SCRIPT POST A dag-step.sh end A $RETURN $RETRY $MAX_RETRIES\n"
            "SCRIPT PRE B dag-step.sh begin B A:failed\n"
            "PRE_SKIP B 99\n"
            "SCRIPT POST B dag-step.sh end B $RETURN $RETRY $MAX_RETRIES\n"
            "FINAL outcome /j/a.sub NOOP\n"
            "SCRIPT PRE outcome dag-step.sh outcome\n");
  EXPECT_NE(text->script, "");
}

TEST(CondorDagFile, a_path_with_white_space_is_refused) {
  EXPECT_FALSE(render_dag({{.name = "A", .submit_file = "/my jobs/a.sub"}}));
}

}  // namespace
}  // namespace kedge::launch::condor
