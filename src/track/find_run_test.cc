#include "track/find_run.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "core/file.h"
#include "core/result.h"
#include "core/scratch_folder.h"
#include "track/attempt.h"

namespace kedge::track {
namespace {

using testing::HasSubstr;
using testing::Not;

class FindRunTest : public testing::Test {
 protected:
  FindRunTest() {
    query_.dir = folder_.path();
    query_.project = "p";
    query_.config_hash = "h1";
  }

  Path add(const std::string& id, std::string_view state, std::string_view created,
           std::string_view hash = "h1") {
    const Path run = folder_ / "p" / id;
    KEDGE_CHECK(make_dirs(run).has_value(), "a test can make folders");
    const nlohmann::json json = {{"format", "kedge-run"},
                                 {"id", id},
                                 {"state", state},
                                 {"created", created},
                                 {"config_hash", hash}};
    KEDGE_CHECK(write_file_atomic(run / "run.json", json.dump()).has_value(), "and files");
    return run;
  }

  // Held by a process on a machine we cannot ask, last seen `age_s` ago.
  static void hold_elsewhere(const Path& run, int age_s) {
    KEDGE_CHECK(make_dirs(run / "attempts").has_value(), "a test can make folders");
    const Path path = run / "attempts" / "1.json";
    const nlohmann::json json = {{"format", "kedge-attempt"}, {"host", "elsewhere"}, {"pid", 1}};
    KEDGE_CHECK(write_file_atomic(path, json.dump()).has_value(), "and files");
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec -= age_s;
    const timespec times[2] = {now, now};
    ::utimensat(AT_FDCWD, path.c_str(), times, 0);
  }

  ScratchFolder folder_;
  RunQuery query_;
  TakeOptions at_once_ = {.may_wait = false};
};

TEST_F(FindRunTest, without_runs_there_is_none) {
  EXPECT_EQ(*find_run(query_), std::nullopt);
}

TEST_F(FindRunTest, the_newest_unfinished_run_with_the_same_config_is_meant) {
  add("20261115-010000-aaaaaa", "running", "2026-11-15T01:00:00Z");
  const Path wanted = add("20261115-020000-aaaaaa", "interrupted", "2026-11-15T02:00:00Z");
  add("20261115-030000-aaaaaa", "finished", "2026-11-15T03:00:00Z");
  add("20261115-040000-aaaaaa", "failed", "2026-11-15T04:00:00Z", "h2");
  EXPECT_EQ(*find_run(query_), wanted);
}

TEST_F(FindRunTest, names_given_by_people_count_by_their_time_too) {
  add("zzz", "failed", "2026-11-15T01:00:00Z");
  const Path wanted = add("aaa", "failed", "2026-11-15T03:00:00Z");
  add("20261115-020000-aaaaaa", "failed", "2026-11-15T02:00:00Z");
  EXPECT_EQ(*find_run(query_), wanted);
}

TEST_F(FindRunTest, a_run_that_a_live_process_holds_is_passed_over) {
  const Path older = add("a", "running", "2026-11-15T01:00:00Z");
  const Path newer = add("b", "running", "2026-11-15T02:00:00Z");
  {
    const auto attempt = Attempt::take(newer);
    EXPECT_EQ(*find_run(query_), older);
  }
  EXPECT_EQ(*find_run(query_), newer);
}

TEST_F(FindRunTest, a_holder_elsewhere_that_may_just_have_died_is_waited_for) {
  add("a", "running", "2026-11-15T01:00:00Z");
  const Path newer = add("b", "running", "2026-11-15T02:00:00Z");
  hold_elsewhere(newer, 1);
  EXPECT_EQ(*find_run(query_, at_once_), folder_ / "p" / "a");
  bool has_waited = false;
  const TakeOptions patient = {.on_wait = [&](std::string_view) { has_waited = true; },
                               .dead_after = std::chrono::milliseconds(1100)};
  EXPECT_EQ(*find_run(query_, patient), newer);
  EXPECT_TRUE(has_waited);
}

TEST_F(FindRunTest, a_named_run_is_meant_whatever_its_state) {
  const Path run = add("mine", "finished", "2026-11-15T01:00:00Z", "other");
  query_.id = "mine";
  EXPECT_EQ(*find_run(query_), run);
  query_.id = "yours";
  EXPECT_EQ(*find_run(query_), std::nullopt);
  query_.id = "../p/mine";
  EXPECT_EQ(find_run(query_).error().kind, ErrorKind::Usage);
}

TEST_F(FindRunTest, folders_without_a_readable_description_are_skipped_with_a_warning) {
  const Path good = add("a", "running", "2026-11-15T01:00:00Z");
  const Path broken = add("b", "running", "2026-11-15T02:00:00Z");
  ASSERT_TRUE(write_file_atomic(broken / "run.json", "{\"format\":"));
  ASSERT_TRUE(make_dirs(folder_ / "p" / "empty"));
  ASSERT_TRUE(make_dirs(folder_ / "p" / ".hidden"));
  ASSERT_TRUE(write_file_atomic(folder_ / "p" / "notes.txt", "x"));
  testing::internal::CaptureStderr();
  EXPECT_EQ(*find_run(query_), good);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr((folder_ / "p" / "b").string() + " is skipped"));
  EXPECT_THAT(said, HasSubstr((folder_ / "p" / "empty").string() + " is skipped"));
  EXPECT_THAT(said, Not(HasSubstr("notes.txt")));
  EXPECT_THAT(said, Not(HasSubstr(".hidden")));
}

TEST_F(FindRunTest, without_a_hash_nothing_is_guessed) {
  add("a", "running", "2026-11-15T01:00:00Z", "");
  query_.config_hash = "";
  EXPECT_EQ(*find_run(query_), std::nullopt);
}

TEST_F(FindRunTest, thousands_of_finished_runs_are_no_burden) {
  for (int i = 0; i < 3000; ++i) {
    const Path run = folder_ / "p" / fmt::format("20261114-{:06}-aaaaaa", i);
    std::filesystem::create_directories(run);
    const nlohmann::json json = {{"format", "kedge-run"},
                                 {"state", "finished"},
                                 {"created", "2026-11-14T01:00:00Z"},
                                 {"config_hash", "h1"}};
    ASSERT_TRUE(write_file_atomic(run / "run.json", json.dump(2)));
  }
  const Path wanted = add("20261113-000000-aaaaaa", "failed", "2026-11-13T01:00:00Z");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(*find_run(query_), wanted);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

}  // namespace
}  // namespace kedge::track
