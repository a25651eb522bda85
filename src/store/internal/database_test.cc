#include "store/internal/database.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/result.h"
#include "core/scratch_folder.h"
#include "core/small_disk.h"
#include "store/internal/backends.h"
#include "store/internal/schema.h"
#include "store/store.h"
#include "store/test_postgres.h"

namespace kedge::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Each test runs on both databases.
class DatabaseTest : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    if (GetParam() == "sqlite") {
      address_ = folder_.path().string();
      return;
    }
    if (!TestPostgres::instance().is_running()) {
      GTEST_SKIP() << TestPostgres::instance().why_not();
    }
    address_ = TestPostgres::instance().make_database();
  }

  std::unique_ptr<Database> open(Access access = Access::Owner) {
    auto database = open_database(address_, access);
    EXPECT_TRUE(database) << database.error().message;
    return std::move(*database);
  }

  ScratchFolder folder_;
  std::string address_;
};

INSTANTIATE_TEST_SUITE_P(Both, DatabaseTest, testing::Values("sqlite", "postgres"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(DatabaseTest, values_come_back_as_they_were_put) {
  const auto database = open();
  ASSERT_TRUE(
      database->run("CREATE TABLE t (id {id}, n BIGINT, r DOUBLE PRECISION, s TEXT, "
                    "b {blob})"));
  const std::string bytes("\0\xff'\\x", 5);
  const double infinity = std::numeric_limits<double>::infinity();
  const char* insert = "INSERT INTO t (n, r, s, b) VALUES ($1, $2, $3, $4)";
  const auto smallest = std::numeric_limits<std::int64_t>::min();
  ASSERT_TRUE(database->run(insert, {smallest, -infinity, "a 'quoted' \xc3\xa9", Blob{bytes}}));
  ASSERT_TRUE(database->run(insert, {-1, 0.1, "", Blob{""}}));
  ASSERT_TRUE(database->run(insert, {nullptr, std::nan(""), nullptr, nullptr}));
  std::vector<std::int64_t> numbers;
  std::vector<std::string> texts;
  std::vector<std::string> blobs;
  std::vector<double> reals;
  std::vector<bool> nulls;
  ASSERT_TRUE(database->query("SELECT n, r, s, b FROM t ORDER BY id", {},
                              [&](const SqlRow& row) -> Result<void> {
                                numbers.push_back(row.integer(0));
                                reals.push_back(row.real(1));
                                texts.push_back(row.string(2));
                                blobs.emplace_back(row.blob(3));
                                nulls.push_back(row.is_null(3));
                                return {};
                              }));
  EXPECT_THAT(numbers, ElementsAre(smallest, -1, 0));
  EXPECT_THAT(texts, ElementsAre("a 'quoted' \xc3\xa9", "", ""));
  EXPECT_THAT(blobs, ElementsAre(bytes, "", ""));
  EXPECT_THAT(nulls, ElementsAre(false, false, true));
  EXPECT_EQ(reals.at(0), -infinity);
  EXPECT_EQ(reals.at(1), 0.1);
  EXPECT_TRUE(std::isnan(reals.at(2)));
}

TEST_P(DatabaseTest, placeholders_may_stand_in_any_order) {
  const auto database = open();
  std::vector<std::int64_t> row;
  ASSERT_TRUE(database->query("SELECT CAST($2 AS BIGINT) - CAST($1 AS BIGINT)", {1, 10},
                              [&](const SqlRow& answer) -> Result<void> {
                                row.push_back(answer.integer(0));
                                return {};
                              }));
  EXPECT_THAT(row, ElementsAre(9));
}

TEST_P(DatabaseTest, a_savepoint_takes_back_what_came_after_it) {
  const auto database = open();
  ASSERT_TRUE(database->run("CREATE TABLE t (n BIGINT PRIMARY KEY)"));
  const char* insert = "INSERT INTO t (n) VALUES ($1)";
  ASSERT_TRUE(database->run("BEGIN"));
  ASSERT_TRUE(database->run(insert, {1}));
  ASSERT_TRUE(database->run("SAVEPOINT job"));
  ASSERT_TRUE(database->run(insert, {2}));
  const auto twice = database->run(insert, {1});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().kind, ErrorKind::Usage);
  ASSERT_TRUE(database->run("ROLLBACK TO SAVEPOINT job"));
  ASSERT_TRUE(database->run("RELEASE SAVEPOINT job"));
  ASSERT_TRUE(database->run(insert, {3}));
  ASSERT_TRUE(database->run("COMMIT"));
  EXPECT_EQ(*database->query_integer("SELECT CAST(sum(n * n) AS BIGINT) FROM t", {}), 10);
}

TEST_P(DatabaseTest, a_second_owner_is_told_who_the_first_is) {
  auto first = open();
  const auto second = open_database(address_, Access::Owner);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::Unavailable);
  EXPECT_THAT(second.error().message, HasSubstr(fmt::format("process {}", ::getpid())));
  EXPECT_THAT(second.error().hint, HasSubstr("stop that server"));
  first.reset();
  EXPECT_TRUE(open_database(address_, Access::Owner));
}

TEST_P(DatabaseTest, a_reader_sees_what_is_committed_and_changes_nothing) {
  const auto owner = open();
  ASSERT_TRUE(owner->run("CREATE TABLE t (n BIGINT)"));
  const auto reader = open(Access::Reader);
  ASSERT_TRUE(owner->run("BEGIN"));
  ASSERT_TRUE(owner->run("INSERT INTO t (n) VALUES ($1)", {1}));
  EXPECT_EQ(*reader->query_integer("SELECT count(*) FROM t", {}), 0);
  ASSERT_TRUE(owner->run("COMMIT"));
  EXPECT_EQ(*reader->query_integer("SELECT count(*) FROM t", {}), 1);
  EXPECT_FALSE(reader->run("INSERT INTO t (n) VALUES (2)"));
}

TEST_P(DatabaseTest, migrating_twice_changes_nothing_and_a_newer_schema_is_refused) {
  const auto database = open();
  ASSERT_TRUE(migrate(*database));
  ASSERT_TRUE(migrate(*database));
  const auto version = static_cast<std::int64_t>(migrations().size());
  EXPECT_EQ(*database->query_integer("SELECT version FROM schema_version", {}), version);
  ASSERT_TRUE(database->run("UPDATE schema_version SET version = $1", {version + 1}));
  const auto refused = migrate(*database);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("made by a newer kedge"));
}

class OldStoreTest : public DatabaseTest {
 protected:
  // The tables of an older kedge, with the run r of the project p in them, and its series "loss".
  std::unique_ptr<Database> make_old(std::size_t version) {
    auto database = open();
    EXPECT_TRUE(database->run("CREATE TABLE schema_version (version BIGINT NOT NULL)"));
    EXPECT_TRUE(database->run("INSERT INTO schema_version (version) VALUES ($1)", {version}));
    for (const Migration& migration : migrations().first(version)) {
      for (const std::string_view statement : migration) {
        EXPECT_TRUE(database->run(statement)) << statement;
      }
    }
    EXPECT_TRUE(database->run("INSERT INTO projects (id, name) VALUES (1, 'p')"));
    EXPECT_TRUE(database->run(
        "INSERT INTO runs (id, project_id, run_id, name, state, created_us, ended_us, heartbeat_us,"
        " user_name, host, group_name, job_type, notes, tags, source, attempt, parent, sweep,"
        " config_hash, last_step) VALUES (1, 1, 'r', 'r', 'running', 1, 0, 7, '', '', '', '', '',"
        " '[]', '', 1, '', '', '', 5)"));
    EXPECT_TRUE(
        database->run("INSERT INTO run_documents (run, config, summary, environment)"
                      " VALUES (1, '{}', '{}', '{}')"));
    EXPECT_TRUE(
        database->run("INSERT INTO series (id, run, attempt, kind, name, point_count, kept_count,"
                      " last_step, first_us, last_us, max_step)"
                      " VALUES (1, 1, 1, 0, 'loss', 0, 0, 0, 0, 0, 0)"));
    return database;
  }

  std::unique_ptr<Store> open_store() {
    auto store = Store::open(address_, 10);
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }
};

INSTANTIATE_TEST_SUITE_P(Both, OldStoreTest, testing::Values("sqlite", "postgres"),
                         [](const auto& test) { return std::string(test.param); });

// Step 5 at 1,000 us with the value 0.5 in the first series of the first run.
constexpr std::string_view kJournalRow("\x01\x01\x01\x0a\xd0\x0f\0\0\0\0\0\0\xe0\x3f", 14);

void expect_the_point(const Store& store) {
  const auto history = store.read_history({"p", "r"}, "loss");
  ASSERT_TRUE(history);
  ASSERT_EQ(history->points.size(), 1U);
  EXPECT_EQ(history->points[0].step, 5);
  EXPECT_EQ(history->points[0].time_us, 1000);
  EXPECT_EQ(history->points[0].value, 0.5);
  EXPECT_EQ(store.find_facts({"p", "r"})->heartbeat_us, 7);
}

TEST_P(OldStoreTest, points_in_the_journal_of_an_older_kedge_are_there) {
  ASSERT_TRUE(
      make_old(7)->run("INSERT INTO journal (run, data) VALUES (1, $1)", {Blob{kJournalRow}}));
  expect_the_point(*open_store());
}

TEST_P(OldStoreTest, traces_and_objects_of_an_older_kedge_go_and_runs_stay) {
  {
    const auto database = make_old(9);
    for (const char* statement :
         {"INSERT INTO traces (id, project_id, time_ms, info) VALUES ('t', 1, 1, '{}')",
          "INSERT INTO trace_spans (trace, span, start_ns, body) VALUES ('t', 'a', 1, '{}')",
          "INSERT INTO trace_spans (trace, span, start_ns, body) VALUES ('t', 'b', 1, '{}')",
          "INSERT INTO trace_runs (trace, run_id) VALUES ('t', 'r')",
          "INSERT INTO objects (kind, id, project_id, parent, name, created_us, body)"
          " VALUES ('mlflow.dataset', 'd', 1, '', 'd', 1, '{}')",
          "INSERT INTO objects (kind, id, project_id, parent, name, created_us, body)"
          " VALUES ('mlflow.gateway.secret', 's', NULL, '', 's', 1, '{}')"}) {
      ASSERT_TRUE(database->run(statement)) << statement;
    }
    ASSERT_TRUE(database->run("INSERT INTO journal (id, data) VALUES (4294967297, $1)",
                              {Blob{kJournalRow}}));
  }
  testing::internal::CaptureStderr();
  expect_the_point(*open_store());
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("dropped: 1 mlflow.dataset, 1 mlflow.gateway.secret, 1 trace, "
                        "2 trace span\n"));
  const auto database = open();
  for (const char* table : {"traces", "trace_spans", "trace_runs", "objects"}) {
    EXPECT_FALSE(database->query_integer(fmt::format("SELECT COUNT(*) FROM {}", table), {}));
  }
}

TEST_P(OldStoreTest, a_store_without_traces_has_nothing_to_say) {
  make_old(9).reset();
  testing::internal::CaptureStderr();
  open_store();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Address, hides_the_password) {
  EXPECT_EQ(render_address("postgres://me:s3cret@host:5/db?password=s3cret"),
            "postgres://me@host:5/db");
  EXPECT_EQ(render_address("postgres://me@host:5432/db"), "postgres://me@host:5432/db");
  EXPECT_EQ(render_address("data/here"), "data/here");
}

// The numbers are those of statfs(2).
TEST(FileSystem, network_ones_are_known_by_name) {
  EXPECT_EQ(network_file_system(0x6969), "NFS");
  EXPECT_EQ(network_file_system(static_cast<std::int32_t>(0xFF534D42)), "CIFS");
  EXPECT_EQ(network_file_system(0x0BD00BD0), "Lustre");
  EXPECT_EQ(network_file_system(0xEF53), std::nullopt);      // ext4
  EXPECT_EQ(network_file_system(0x01021994), std::nullopt);  // tmpfs
}

TEST(Sqlite, says_when_the_disk_is_full_and_works_on_afterwards) {
  const SmallDisk disk(2048);
  if (!disk.is_mounted()) {
    GTEST_SKIP() << "mounting a small disk needs root";
  }
  auto opened = open_database(disk.path().string(), Access::Owner);
  ASSERT_TRUE(opened);
  Database& database = **opened;
  ASSERT_TRUE(database.run("CREATE TABLE t (b {blob})"));
  const std::string half(1U << 20U, 'x');
  Result<void> result;
  for (int i = 0; i < 4 && result; ++i) {
    result = database.run("INSERT INTO t (b) VALUES ($1)", {Blob{half}});
  }
  ASSERT_FALSE(result);
  EXPECT_TRUE(is_disk_full(result.error())) << result.error().message;
  EXPECT_TRUE(database.query_integer("SELECT count(*) FROM t", {}));
}

}  // namespace
}  // namespace kedge::store
