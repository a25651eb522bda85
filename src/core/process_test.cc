#include "core/process.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace kedge
