#include "core/process.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "core/scratch_folder.h"

namespace kedge {
namespace {

TEST(Process, gives_output_errors_and_exit_code) {
  const auto result = run_process({.args = {"sh", "-c", "echo out; echo err >&2; exit 3"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "out\n");
  EXPECT_EQ(result->errors, "err\n");
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_FALSE(result->is_ok());
}

TEST(Process, passes_arguments_as_they_are) {
  const auto result = run_process({.args = {"printf", "%s|", "a b", "$HOME", "*", "", "'"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "a b|$HOME|*||'|");
}

TEST(Process, runs_in_the_given_folder_with_an_empty_stdin) {
  const Path folder = std::filesystem::canonical(std::filesystem::temp_directory_path());
  const auto result = run_process({.args = {"sh", "-c", "pwd; cat"}, .folder = folder});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, folder.string() + "\n");
}

TEST(Process, does_not_hang_when_both_pipes_fill) {
  const auto result = run_process(
      {.args = {"sh", "-c", "head -c 3000000 /dev/zero >&2; head -c 3000000 /dev/zero"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output.size(), 3000000U);
  EXPECT_EQ(result->errors.size(), 3000000U);
}

TEST(Process, tells_which_signal_ended_the_program) {
  const auto result = run_process({.args = {"sh", "-c", "kill -9 $$"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 128 + 9);
}

TEST(Process, names_a_program_that_is_not_installed) {
  const auto result = run_process({.args = {"no-such-program-here"}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::NotFound);
  EXPECT_NE(result.error().message.find("no-such-program-here"), std::string::npos);
  EXPECT_FALSE(find_program("no-such-program-here"));
  EXPECT_TRUE(find_program("sh"));
}

TEST(Process, names_a_folder_that_does_not_exist) {
  const auto result = run_process({.args = {"true"}, .folder = "/no/such/folder"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::NotFound);
  EXPECT_NE(result.error().message.find("/no/such/folder"), std::string::npos);
}

TEST(Process, a_program_that_takes_too_long_is_killed_with_what_it_started) {
  const ScratchFolder scratch;
  const std::string pid = (scratch / "pid").string();
  const auto begin = std::chrono::steady_clock::now();
  const auto result = run_process(
      {.args = {"sh", "-c",
                "sleep 600 & echo $! >" + pid + ".new; mv " + pid + ".new " + pid + "; wait"},
       .timeout = std::chrono::milliseconds(1000)});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::Unavailable);
  EXPECT_NE(result.error().message.find("sh did not end within 1000 ms"), std::string::npos);
  const pid_t sleeper = std::stoi(read_file(pid).value());
  while (::kill(sleeper, 0) == 0) {  // dead at once, gone when its new parent has seen it
    const auto state = read_file("/proc/" + std::to_string(sleeper) + "/stat");
    if (state && state->find(") Z ") != std::string::npos) {
      break;
    }
  }
}

TEST(Process, the_limit_also_holds_for_a_program_that_closed_its_output) {
  const auto result = run_process({.args = {"sh", "-c", "exec >&- 2>&-; exec sleep 600"},
                                   .timeout = std::chrono::milliseconds(100)});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::Unavailable);
}

TEST(Process, a_program_that_is_quick_enough_is_a_value) {
  const auto result = run_process(
      {.args = {"sh", "-c", "echo out; exit 3"}, .timeout = std::chrono::milliseconds(60000)});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "out\n");
  EXPECT_EQ(result->exit_code, 3);
}

TEST(Process, a_program_does_not_inherit_blocked_signals) {
  sigset_t blocked;
  sigset_t before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto result = run_process({.args = {"sh", "-c", "kill -TERM $$; echo alive"}});
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 128 + SIGTERM);
}

}  // namespace
}  // namespace kedge
