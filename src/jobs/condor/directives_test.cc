#include "jobs/condor/directives.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/condor/submission.h"

namespace kedge::jobs::condor {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string text_with(const std::vector<std::string>& lines) {
  JobSpec spec{.name = "x", .command = {"/bin/true"}, .folder = "/home/ada", .wants = {}};
  spec.wants.constraint = "Machine =!= \"bad\"";
  spec.wants.directives = lines;
  const auto file = make_submit_file(spec, {.key = "k7f3q2",
                                            .submission = 1,
                                            .folder = "/home/ada/jobs/k7f3q2",
                                            .kedge = "/k",
                                            .ids = {}});
  return file ? render(*file).value() : file.error().message + "; " + file.error().hint;
}

TEST(CondorDirectives, what_kedge_does_not_say_is_taken_as_it_is) {
  const std::string text = text_with({"+ProjectName = \"x\"", "rank = Memory", "Priority = 5"});
  EXPECT_THAT(text, HasSubstr("\n+ProjectName = \"x\"\nrank = Memory\nPriority = 5\n"));
}

TEST(CondorDirectives, requirements_are_joined) {
  const std::string text = text_with({"Requirements = (OpSysMajorVer == 9)"});
  EXPECT_THAT(text, HasSubstr("(Machine =!= \"bad\") && ((OpSysMajorVer == 9))"));
  EXPECT_EQ(text.find("equirements", text.find("equirements") + 1), std::string::npos) << text;
}

TEST(CondorDirectives, what_the_job_depends_on_is_refused_with_the_key_to_use) {
  EXPECT_THAT(text_with({"log = /tmp/mine.log"}), HasSubstr("leave it out"));
  EXPECT_THAT(text_with({"  Output=x"}), HasSubstr("use job.output"));
  EXPECT_THAT(text_with({"request_memory = 9GB"}), HasSubstr("use job.memory"));
  EXPECT_THAT(text_with({"queue 3"}), HasSubstr("--tasks"));
  EXPECT_THAT(text_with({"MY.KedgeMark = \"x\""}), HasSubstr("would override"));
  EXPECT_THAT(text_with({"+KedgeMark = \"x\""}), HasSubstr("would override"));
}

TEST(CondorDirectives, what_kedge_was_told_to_leave_out_is_the_users) {
  EXPECT_THAT(text_with({"request_gpus = 1"}), Not(HasSubstr("would override")));
}

}  // namespace
}  // namespace kedge::jobs::condor
