// What every launcher owes that can be asked without its scheduler: a launcher that registers
// itself is tested without an edit here. With real daemons: tests/jobs/conformance.py.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/inside_job.h"
#include "core/scratch_folder.h"
#include "jobs/launcher.h"

namespace kedge::jobs {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> launcher_names() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : Launchers::all()) {
    names.emplace_back(name);
  }
  return names;
}

class EveryLauncher : public testing::TestWithParam<std::string> {
 protected:
  JobSpec spec() const {
    JobSpec spec{
        .name = "greet", .command = {"/bin/echo", "hello"}, .folder = scratch_.path(), .wants = {}};
    spec.wants.scheduler = GetParam();
    return spec;
  }

  SubmissionPlace place(std::int64_t submission = 1) const {
    return {.key = "greet-1",
            .submission = submission,
            .folder = scratch_ / "jobs/greet-1",
            .kedge = "/opt/kedge/bin/kedge",
            .ids = {}};
  }

  // All that the scheduler is handed.
  static std::string text_of(const Rendering& rendering) {
    std::string text;
    for (const RenderedFile& file : rendering.files) {
      text += file.text;
    }
    for (const std::string& word : rendering.command) {
      text += word + "\n";
    }
    return text;
  }

  ScratchFolder scratch_;
  std::unique_ptr<Launcher> launcher_ = make_launcher(GetParam()).value();
};

TEST_P(EveryLauncher, is_found_by_its_own_name) {
  EXPECT_EQ(launcher_->name(), GetParam());
  EXPECT_FALSE(Launchers::all().at(GetParam()).summary.empty());
}

TEST_P(EveryLauncher, has_a_place_of_its_own_in_the_order_of_auto) {
  std::set<int> places;
  for (const std::string& name : launcher_names()) {
    places.insert(make_launcher(name).value()->priority());
  }
  EXPECT_EQ(places.size(), launcher_names().size());
}

TEST_P(EveryLauncher, renders_the_same_twice_and_writes_nothing) {
  const auto once = launcher_->render(spec(), place());
  ASSERT_TRUE(once) << once.error().message;
  EXPECT_EQ(text_of(*once), text_of(launcher_->render(spec(), place()).value()));
  EXPECT_TRUE(std::filesystem::is_empty(scratch_.path()));
}

// The command runs in the job's folder: what it names must be among the files.
TEST_P(EveryLauncher, has_files_and_a_command_that_submits_them) {
  const Rendering rendering = launcher_->render(spec(), place()).value();
  ASSERT_FALSE(rendering.files.empty());
  ASSERT_FALSE(rendering.command.empty());
  EXPECT_TRUE(Path(rendering.output).is_absolute()) << rendering.output;
}

// By its mark a submission is found whose submitter was killed; two of a job are told apart. Where
// the launcher's own supervisor is the scheduler, the folder and the number are the mark.
TEST_P(EveryLauncher, each_submission_is_told_apart) {
  const std::string first = text_of(launcher_->render(spec(), place(1)).value());
  const std::string second = text_of(launcher_->render(spec(), place(2)).value());
  EXPECT_NE(first, second);
  const bool has_mark = first.find("kedge:greet-1/1") != std::string::npos;
  const bool has_place = first.find((scratch_ / "jobs/greet-1").string()) != std::string::npos &&
                         first.find("--submission\n1") != std::string::npos;
  EXPECT_TRUE(has_mark || has_place) << first;
}

TEST_P(EveryLauncher, hands_a_secret_over_by_name_only) {
  ::setenv("CONFORMANCE_KEY", "s3cr3t-value", 1);
  JobSpec wanting = spec();
  wanting.wants.secrets = {"CONFORMANCE_KEY"};
  const auto rendering = launcher_->render(wanting, place());
  ::unsetenv("CONFORMANCE_KEY");
  ASSERT_TRUE(rendering) << rendering.error().message;
  EXPECT_THAT(text_of(*rendering), Not(HasSubstr("s3cr3t-value")));
  EXPECT_THAT(rendering->secrets, testing::Contains("CONFORMANCE_KEY"));
}

// Each task reads its own line of the file `items`, wherever that travels.
TEST_P(EveryLauncher, an_array_reads_one_item_a_task) {
  JobSpec array = spec();
  array.tasks = 3;
  array.items = {"red", "green", "blue"};
  const std::string text = text_of(launcher_->render(array, place()).value());
  EXPECT_THAT(text, HasSubstr("KEDGE_ITEM="));
  EXPECT_THAT(text, HasSubstr("items"));
  EXPECT_THAT(text_of(launcher_->render(spec(), place()).value()), Not(HasSubstr("KEDGE_ITEM=")));
}

// What it cannot do is said before anything is submitted, with another way.
TEST_P(EveryLauncher, a_session_is_a_command_or_an_error_with_a_way_out) {
  const auto words = launcher_->interactive(spec());
  if (words) {
    EXPECT_FALSE(words->empty());
  } else {
    EXPECT_EQ(words.error().kind, ErrorKind::Usage);
    EXPECT_FALSE(words.error().hint.empty());
  }
}

// Outside of its jobs a scheduler says nothing; what it says inside is registered by its name.
TEST_P(EveryLauncher, says_nothing_outside_of_a_job) {
  const auto nothing = [](const char* /*name*/) { return std::optional<std::string>(); };
  if (launcher_->priority() > 0) {
    ASSERT_TRUE(InsideJobs::all().contains(GetParam()));
    const auto inside = InsideJobs::make("scheduler", GetParam()).value();
    EXPECT_FALSE(inside->find_name(nothing));
    EXPECT_TRUE(inside->describe(nothing).empty());
    EXPECT_FALSE(inside->find_step(nothing).value());
    EXPECT_FALSE(inside->find_end({.variables = {}, .process_start = {}}));
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryLauncher, testing::ValuesIn(launcher_names()),
                         [](const auto& info) { return info.param; });

TEST(Launchers, an_unknown_one_is_refused_with_the_nearest) {
  const auto made = make_launcher("slrum");
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message + made.error().hint, HasSubstr("slurm"));
}

}  // namespace
}  // namespace kedge::jobs
