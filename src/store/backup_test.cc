#include "store/backup.h"

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/scratch_folder.h"
#include "store/artifacts.h"
#include "store/blobs.h"
#include "store/dialect/artifact_drafts.h"
#include "store/dialect/loose_files.h"
#include "store/store.h"
#include "store/test_postgres.h"

namespace kedge::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A store with one blob that only a W&B manifest's draft names, one that only its file does, and
// one of a logged model of MLflow's. Returns their digests.
std::vector<std::string> fill_store(const Path& folder, const std::string& database = {}) {
  const auto store = Store::open(database.empty() ? folder.string() : database, 1).value();
  const auto blobs = BlobStore::open((folder / "blobs").string()).value();
  Artifacts artifacts(*store, *blobs);
  ArtifactDrafts drafts(*store, artifacts);
  const std::string manifest = blobs->put("manifest").value().digest;
  const std::string file = blobs->put("file").value().digest;
  const std::string model = blobs->put("model").value().digest;
  const auto draft = drafts.create({.project = "p", .name = "n", .type = "t"}, 1).value();
  EXPECT_TRUE(drafts.set_manifest(draft.id, manifest));
  EXPECT_TRUE(drafts.put_files(draft.id, {{"f", "md5", file, 4}}));
  EXPECT_TRUE(LooseFiles(*store).put("models/m", {.path = "p", .size = 5, .digest = model}));
  return {manifest, file, model};
}

TEST(BackupTest, a_backup_has_the_blobs_that_only_other_tools_tables_name) {
  const ScratchFolder folder;
  const auto digests = fill_store(folder / "data");
  const auto copied =
      copy_store({.from = folder / "data", .from_blobs = {}, .to = folder / "backup"});
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->blobs, 3U);
  ASSERT_TRUE(copy_store({.from = folder / "backup", .from_blobs = {}, .to = folder / "restored"}));
  const auto restored = BlobStore::open((folder / "restored" / "blobs").string()).value();
  std::vector<std::string> texts;
  for (const std::string& digest : digests) {
    texts.push_back(restored->read_all(digest).value_or("gone"));
  }
  EXPECT_THAT(texts, ElementsAre("manifest", "file", "model"));
}

// What is in a store of each kind of column: numbers, texts, points in blobs, values that are NULL.
void log_run(const std::string& address) {
  const auto store = Store::open(address, 1).value();
  const RunKey key{"mnist", "r1"};
  ASSERT_TRUE(store->create_run(key, {.name = "it's \xC3\xA4"}, 5));
  for (int step = 0; step < 2000; ++step) {
    ASSERT_TRUE(store->log(key, {{"loss", step, step / 8.0}, {"nan", step, std::nan("")}}, 6));
  }
  ASSERT_TRUE(store->put_run(key, {.state = RunState::Finished}, 7));
}

void expect_run(const std::string& address) {
  const auto store = Store::open(address, 8).value();
  const RunKey key{"mnist", "r1"};
  const auto run = store->find_run(key);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->facts.name, "it's \xC3\xA4");
  EXPECT_EQ(store->read_history(key, "loss")->points.at(1999).value, 249.875);
  EXPECT_TRUE(std::isnan(store->read_history(key, "nan")->points.at(7).value));
  // Rows that number themselves come after those that were copied.
  ASSERT_TRUE(store->create_run({"mnist", "r2"}, {}, 9));
  ASSERT_TRUE(store->create_run({"other", "r3"}, {}, 9));
  EXPECT_GT(store->find_project("other")->id, store->find_project("mnist")->id);
}

TEST(BackupTest, a_store_in_postgres_goes_to_sqlite_and_back) {
  if (!TestPostgres::instance().is_running()) {
    GTEST_SKIP() << TestPostgres::instance().why_not();
  }
  const ScratchFolder folder;
  const std::string before = TestPostgres::instance().make_database();
  const std::string after = TestPostgres::instance().make_database();
  const auto digests = fill_store(folder / "data", before);
  log_run(before);
  const auto copied =
      copy_store({.from = folder / "data", .from_db = before, .to = folder / "backup"});
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->blobs, 3U);
  const StoreCopy back{.from = folder / "backup", .to = folder / "restored", .to_db = after};
  const auto restored = copy_store(back);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_THAT(check_store({.data = folder / "restored", .db = after})->problems,
              testing::IsEmpty());
  EXPECT_EQ(copy_store(back).error().message, "the database holds a store already");
  expect_run(after);
  expect_run((folder / "backup").string());  // a backup is a store, too
}

TEST(BackupTest, a_scheme_that_is_no_databases_is_refused_with_those_that_are) {
  const auto opened = Store::open("postgre://host/db", 1);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("postgre"));
  EXPECT_THAT(opened.error().hint, HasSubstr("sqlite"));
}

TEST(BackupTest, a_check_misses_each_blob_that_is_gone) {
  const ScratchFolder folder;
  for (const std::string& digest : fill_store(folder.path())) {
    const Path lies = folder.path() / "blobs" / digest.substr(0, 2) / digest.substr(2);
    std::filesystem::rename(lies, folder / "aside");
    const auto report = check_store({.data = folder.path(), .is_quick = true});
    ASSERT_TRUE(report);
    EXPECT_THAT(report->problems, ElementsAre(HasSubstr(digest)));
    std::filesystem::rename(folder / "aside", lies);
  }
  EXPECT_THAT(check_store({.data = folder.path()})->problems, testing::IsEmpty());
}

}  // namespace
}  // namespace kedge::store
