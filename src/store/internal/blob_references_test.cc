#include "store/internal/blob_references.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/artifacts.h"
#include "store/dialect/artifact_drafts.h"
#include "store/dialect/loose_files.h"
#include "store/internal/tables.h"
#include "store/test_backend.h"

namespace kedge::store {
namespace {

using testing::ElementsAreArray;
using testing::IsEmpty;

using Column = std::pair<std::string, std::string>;  // table, column

// Digests and hashes that are no blob's name, with what they are.
const std::set<Column>& columns_without_blobs() {
  static const std::set<Column> columns = {
      {"sources", "digest"},                       // of the part of an event log that was taken
      {"runs", "config_hash"},                     // of a config
      {"grants", "hash"},                          // of a secret
      {"artifact_versions", "digest"},             // of a list of files
      {"artifact_drafts", "digest"},               // the client's own, of its manifest
      {"artifact_draft_files", "md5"},             // beside the digest
      {"blob_md5", "digest"},                      // a name for a blob that others hold
      {"blob_md5", "md5"},                         // the same
      {"datasets", "digest"},                      // MLflow's, of data elsewhere
      {"logged_model_metrics", "dataset_digest"},  // the same
  };
  return columns;
}

bool sounds_like_a_blob(const std::string& column) {
  const auto words = {"digest", "hash", "sha", "md5", "manifest", "blob", "checksum", "etag"};
  return std::ranges::any_of(words, [&](const char* word) { return column.contains(word); });
}

class BlobReferencesTest : public BackendTest {
 protected:
  std::set<Column> columns_of_the_schema() {
    const std::string sql =
        GetParam() == "sqlite"
            ? "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c"
              " WHERE m.type = 'table'"
            : "SELECT table_name, column_name FROM information_schema.columns"
              " WHERE table_schema = 'public'";
    std::set<Column> columns;
    EXPECT_TRUE(Tables(*store_).read([&](Database& database) {
      return database.query(sql, {}, [&](const SqlRow& row) -> Result<void> {
        columns.emplace(row.string(0), row.string(1));
        return {};
      });
    }));
    return columns;
  }

  std::vector<std::string> referred() {
    std::vector<std::string> digests;
    EXPECT_TRUE(Tables(*store_).read([&](Database& database) -> Result<void> {
      digests.clear();
      for (const StoredBlob& blob : KEDGE_TRY(list_referred_blobs(database))) {
        digests.push_back(blob.digest);
      }
      return {};
    }));
    return digests;
  }

  std::size_t count_held_by(const std::string& project) {
    std::size_t count = 0;
    for (const std::string& digest : referred()) {
      EXPECT_TRUE(Tables(*store_).read([&](Database& database) -> Result<void> {
        count += KEDGE_TRY(is_blob_referred(database, digest, project)) ? 1 : 0;
        return {};
      }));
    }
    return count;
  }
};

KEDGE_EACH_BACKEND(BlobReferencesTest);

// Fails for a new table with a digest until somebody has said whether it names blobs.
TEST_P(BlobReferencesTest, every_digest_in_the_schema_is_known_to_name_a_blob_or_not) {
  const std::set<Column> columns = columns_of_the_schema();
  std::set<Column> known = columns_without_blobs();
  for (const BlobReference& reference : blob_references()) {
    known.emplace(reference.table, reference.column);
  }
  for (const Column& column : known) {
    EXPECT_TRUE(columns.contains(column)) << column.first << "." << column.second << " is gone";
  }
  for (const auto& [table, column] : columns) {
    EXPECT_TRUE(known.contains({table, column}) || !sounds_like_a_blob(column))
        << table << "." << column << ": add it to blob_references(), or to the test's list";
  }
}

TEST_P(BlobReferencesTest, a_blob_is_kept_as_long_as_any_table_names_it) {
  const auto blobs = BlobStore::open((folder_ / "blobs").string()).value();
  Artifacts artifacts(*store_, *blobs);
  ArtifactDrafts drafts(*store_, artifacts);
  std::vector<std::string> digests;
  for (const char letter : {'a', 'b', 'c', 'd', 'e'}) {
    digests.push_back(blobs->put(std::string(10, letter)).value().digest);
  }
  const RunKey key = make_run("r1");
  ASSERT_TRUE(store_->bind_file(key, {.path = "x", .size = 10, .digest = digests[0]}));
  const ArtifactFile file{.path = "a", .digest = digests[1], .size = 10};
  const ArtifactFile elsewhere{
      .path = "b", .digest = std::string(64, '1'), .size = 3, .reference = "s3://b/k"};
  ASSERT_TRUE(artifacts.commit(
      {.project = "p", .name = "weights", .type = "model", .files = {file, elsewhere}}, kNow));
  const auto draft = drafts.create({.project = "p", .name = "n", .type = "t"}, kNow);
  ASSERT_TRUE(draft);
  ASSERT_TRUE(drafts.put_files(draft->id, {{"f", "md5", digests[2], 10}, {"g", "md5", "", 0}}));
  ASSERT_TRUE(drafts.set_manifest(draft->id, digests[3]));
  LooseFiles loose(*store_);
  ASSERT_TRUE(loose.put("models/m", {.path = "p", .size = 10, .digest = digests[4]}));
  EXPECT_EQ(artifacts.free_unused(digests).value(), 0U);
  std::ranges::sort(digests);
  EXPECT_THAT(referred(), ElementsAreArray(digests));
  EXPECT_EQ(count_held_by("p"), 3U);      // a version's file, a draft's file and its manifest
  EXPECT_EQ(count_held_by("mnist"), 1U);  // a run's file; what lies loose is no project's
  EXPECT_EQ(count_held_by("other"), 0U);

  ASSERT_TRUE(loose.remove("models/m", {"p"}));
  ASSERT_TRUE(store_->delete_run(key));
  ASSERT_TRUE(drafts.remove(draft->id));
  ASSERT_TRUE(artifacts.remove(artifacts.find("p", "weights", "latest").value()));
  EXPECT_EQ(artifacts.free_unused(digests).value(), 20U);  // of the run and the model
  EXPECT_THAT(referred(), IsEmpty());
}

}  // namespace
}  // namespace kedge::store
