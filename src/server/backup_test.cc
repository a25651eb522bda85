#include "server/backup.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/scratch_folder.h"
#include "store/artifact_drafts.h"
#include "store/artifacts.h"
#include "store/blobs.h"
#include "store/store.h"

namespace kedge::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A store with one blob that only a W&B manifest's draft names, one that only its file does, and
// one of a logged model of MLflow's. Returns their digests.
std::vector<std::string> fill_store(const Path& folder) {
  const auto store = store::Store::open(folder.string(), 1).value();
  const auto blobs = store::BlobStore::open((folder / "blobs").string()).value();
  store::Artifacts artifacts(*store, *blobs);
  store::ArtifactDrafts drafts(*store, artifacts);
  const std::string manifest = blobs->put("manifest").value().digest;
  const std::string file = blobs->put("file").value().digest;
  const std::string model = blobs->put("model").value().digest;
  const auto draft = drafts.create({.project = "p", .name = "n", .type = "t"}, 1).value();
  EXPECT_TRUE(drafts.set_manifest(draft.id, manifest));
  EXPECT_TRUE(drafts.put_files(draft.id, {{"f", "md5", file, 4}}));
  EXPECT_TRUE(store->change([&](store::Database& database) {
    return database.run(
        "INSERT INTO loose_files (shelf, path, size, digest) VALUES ('models/m', 'p', 5, $1)",
        {model});
  }));
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
  const auto restored = store::BlobStore::open((folder / "restored" / "blobs").string()).value();
  std::vector<std::string> texts;
  for (const std::string& digest : digests) {
    texts.push_back(restored->read_all(digest).value_or("gone"));
  }
  EXPECT_THAT(texts, ElementsAre("manifest", "file", "model"));
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
}  // namespace kedge::server
