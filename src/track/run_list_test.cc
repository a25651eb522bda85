#include "track/run_list.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/result.h"
#include "core/scratch_folder.h"
#include "track/attempt.h"
#include "track/run.h"

namespace kedge::track {
namespace {

using testing::HasSubstr;

class RunListTest : public testing::Test {
 protected:
  using Run = track::Run;  // testing::Test has a function of that name

  std::unique_ptr<Run> create(const std::string& project, const std::string& id,
                              const std::string& name) {
    RunStart start;
    start.dir = folder_.path();
    start.project = project;
    start.id = id;
    start.name = name;
    auto run = Run::create(start);
    KEDGE_CHECK(run.has_value(), "a test's run can be made");
    return std::move(*run);
  }

  ScratchFolder folder_;
};

TEST_F(RunListTest, runs_of_all_projects_are_listed_with_what_became_of_them) {
  {
    const auto run = create("p", "a", "one");
    run->log(5, std::vector<Scalar>{{"x", 1}});
    run->finish(RunState::Finished, {});
  }
  {
    const auto run = create("q", "b", "two");
    run->log(7, std::vector<Scalar>{{"x", 1}});
    run->log(6, std::vector<Scalar>{{"x", 1}});
  }
  const auto third = create("q", "c", "three");
  {
    const auto attempt = Attempt::take(folder_ / "p" / "a");
  }
  ASSERT_TRUE(make_dirs(folder_ / "q" / "no-run"));
  const auto runs = list_runs(folder_.path());
  ASSERT_TRUE(runs);
  ASSERT_EQ(runs->size(), 3U);
  const RunSummary& a = runs->at(0);
  EXPECT_EQ(a.id, "a");
  EXPECT_EQ(a.name, "one");
  EXPECT_EQ(a.project, "p");
  EXPECT_EQ(a.state, "finished");
  EXPECT_EQ(a.attempts, 2);
  EXPECT_EQ(a.last_step, 5);
  const RunSummary& b = runs->at(1);
  EXPECT_EQ(b.state, "killed");
  EXPECT_EQ(b.last_step, 7);
  EXPECT_EQ(runs->at(2).state, "running");
  EXPECT_FALSE(runs->at(2).last_step);
}

TEST_F(RunListTest, a_run_is_meant_by_its_folder_its_id_or_its_name) {
  create("p", "a", "one")->finish(RunState::Finished, {});
  create("q", "b", "twin")->finish(RunState::Finished, {});
  create("q", "c", "twin")->finish(RunState::Finished, {});
  const Path dir = folder_.path();
  EXPECT_EQ(*find_run_folder((dir / "p" / "a").string(), "nowhere"), dir / "p" / "a");
  EXPECT_EQ(*find_run_folder("a", dir), dir / "p" / "a");
  EXPECT_EQ(*find_run_folder("one", dir), dir / "p" / "a");
  EXPECT_THAT(find_run_folder("twin", dir).error().message, HasSubstr("2 runs are called 'twin'"));
  const auto none = find_run_folder("onne", dir);
  EXPECT_EQ(none.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(none.error().message, HasSubstr("did you mean 'one'?"));
  EXPECT_EQ(find_run_folder("x", folder_ / "none").error().kind, ErrorKind::NotFound);
  EXPECT_EQ(list_runs(folder_ / "none").error().kind, ErrorKind::NotFound);
}

}  // namespace
}  // namespace kedge::track
