#include "core/supervise.h"

#include <csignal>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/result.h"

namespace kedge {
namespace {

using testing::ElementsAre;

struct Outcome {
  Result<int> exit_code;
  std::vector<std::string> lines;
};

Outcome supervise_shell(const std::string& script,
                        const std::vector<std::pair<std::string, std::string>>& variables = {}) {
  const HeldSignals signals;
  Outcome outcome{.exit_code = 0, .lines = {}};
  Program program{.args = {"sh", "-c", script}, .variables = variables};
  program.on_line = [&](std::string_view line) {
    outcome.lines.emplace_back(line);
    if (line == "ready") {
      ::kill(::getpid(), SIGUSR1);
    }
  };
  outcome.exit_code = supervise(program, signals);
  return outcome;
}

TEST(SuperviseTest, exit_codes_and_lines_come_back) {
  const Outcome outcome = supervise_shell("echo one; echo two >&2; exit 3");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.lines, testing::UnorderedElementsAre("one", "two"));
}

TEST(SuperviseTest, a_signal_that_ends_it_is_128_and_its_number) {
  EXPECT_EQ(supervise_shell("kill -TERM $$").exit_code, 128 + 15);
  EXPECT_EQ(supervise_shell("kill -KILL $$").exit_code, 128 + 9);
}

TEST(SuperviseTest, a_signal_sent_to_us_reaches_it) {
  const Outcome outcome =
      supervise_shell("trap 'echo told; exit 85' USR1; echo ready; while :; do sleep 0.01; done");
  EXPECT_EQ(outcome.exit_code, 85);
  EXPECT_THAT(outcome.lines, ElementsAre("ready", "told"));
}

TEST(SuperviseTest, it_starts_with_no_signal_held_or_ignored) {
  const Outcome outcome = supervise_shell("grep -E 'SigBlk|SigIgn' /proc/self/status");
  EXPECT_THAT(outcome.lines, ElementsAre("SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000"));
}

TEST(SuperviseTest, variables_are_added_and_replaced) {
  ASSERT_EQ(::setenv("KEDGE_TEST_OLD", "old", 1), 0);
  const Outcome outcome = supervise_shell("echo $KEDGE_TEST_OLD $KEDGE_TEST_NEW",
                                          {{"KEDGE_TEST_OLD", "changed"}, {"KEDGE_TEST_NEW", "x"}});
  ::unsetenv("KEDGE_TEST_OLD");
  EXPECT_THAT(outcome.lines, ElementsAre("changed x"));
}

TEST(SuperviseTest, what_was_printed_before_the_end_is_not_lost) {
  const Outcome outcome =
      supervise_shell("i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo $i; done");
  ASSERT_EQ(outcome.lines.size(), 3000U);
  EXPECT_EQ(outcome.lines.back(), "3000");
}

TEST(SuperviseTest, a_program_that_is_not_there_is_an_error) {
  const HeldSignals signals;
  const auto missing = supervise({.args = {"no-such-program"}}, signals);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
}

}  // namespace
}  // namespace kedge
