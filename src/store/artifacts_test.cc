#include "store/artifacts.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/test_backend.h"

namespace kedge::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ArtifactsTest : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (store_ != nullptr) {
      blobs_ = BlobStore::open((folder_ / "blobs").string()).value();
      artifacts_ = std::make_unique<Artifacts>(*store_, *blobs_);
    }
  }

  // A file of ten times this letter, whose bytes are there.
  ArtifactFile file(const std::string& path, char letter) {
    const StoredBlob blob = blobs_->put(std::string(10, letter)).value();
    return {.path = path, .digest = blob.digest, .size = blob.size, .reference = {}};
  }

  bool has(const ArtifactFile& one) { return blobs_->find_size(one.digest).value().has_value(); }

  ArtifactVersion commit(const ArtifactDraft& draft, std::int64_t now_us = 1000) {
    auto answer = artifacts_->commit(draft, now_us);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer->version.value();
  }

  static ArtifactDraft draft(std::vector<ArtifactFile> files) {
    return {.project = "p", .name = "weights", .type = "model", .files = std::move(files)};
  }

  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<Artifacts> artifacts_;
};

KEDGE_EACH_BACKEND(ArtifactsTest);

TEST_P(ArtifactsTest, versions_count_from_zero_and_the_newest_is_latest) {
  EXPECT_EQ(commit(draft({file("a", 'a')})).version, 0);
  EXPECT_EQ(commit(draft({file("a", 'b')})).version, 1);
  const auto latest = artifacts_->find("p", "weights", "latest");
  ASSERT_TRUE(latest);
  EXPECT_EQ(latest->version, 1);
  EXPECT_EQ(artifacts_->find("p", "weights", "v0")->digest,
            artifacts_->find("p", "weights", "0")->digest);
  EXPECT_NE(latest->digest, artifacts_->find("p", "weights", "v0")->digest);
}

TEST_P(ArtifactsTest, the_same_files_in_any_order_make_no_new_version) {
  commit(draft({file("a", 'a'), file("b", 'b')}));
  const auto again = artifacts_->commit(draft({file("b", 'b'), file("a", 'a')}), 2000);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->is_new);
  EXPECT_EQ(again->version->version, 0);
  EXPECT_EQ(again->version->created_us, 1000);
}

TEST_P(ArtifactsTest, missing_blobs_are_named_and_nothing_is_made) {
  const ArtifactFile gone{.path = "b", .digest = std::string(64, 'e'), .size = 1, .reference = {}};
  ArtifactFile twice = gone;
  twice.path = "c";
  const auto answer = artifacts_->commit(draft({file("a", 'a'), gone, twice}), 1);
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->version);
  EXPECT_THAT(answer->missing, ElementsAre(gone.digest));
  EXPECT_THAT(artifacts_->list("p", "").value(), IsEmpty());
}

TEST_P(ArtifactsTest, references_need_no_bytes) {
  ArtifactDraft reference = draft({});
  reference.files.push_back({.path = "train", .digest = {}, .size = 7, .reference = "s3://b/k"});
  const auto answer = artifacts_->commit(reference, 1);
  ASSERT_TRUE(answer && answer->version);
  EXPECT_EQ(artifacts_->files(*answer->version)->front().reference, "s3://b/k");
}

TEST_P(ArtifactsTest, an_alias_moves_from_version_to_version) {
  ArtifactDraft first = draft({file("a", 'a')});
  first.aliases = {"best"};
  commit(first);
  const ArtifactVersion second = commit(draft({file("a", 'b')}));
  EXPECT_EQ(artifacts_->find("p", "weights", "best")->version, 0);
  ASSERT_TRUE(artifacts_->set_alias(second, "best"));
  EXPECT_EQ(artifacts_->find("p", "weights", "best")->version, 1);
  EXPECT_TRUE(artifacts_->remove_alias("p", "weights", "best").value());
  EXPECT_FALSE(artifacts_->remove_alias("p", "weights", "best").value());
  for (const char* bad : {"latest", "v3", "3", "", "a/b", "a:b"}) {
    EXPECT_FALSE(artifacts_->set_alias(second, bad)) << bad;
  }
}

TEST_P(ArtifactsTest, what_is_not_there_is_told_with_what_is) {
  commit(draft({file("a", 'a')}));
  const auto error = artifacts_->find("p", "weights", "prod").error();
  EXPECT_EQ(error.kind, ErrorKind::NotFound);
  EXPECT_THAT(error.hint, HasSubstr("v0, latest"));
  EXPECT_THAT(artifacts_->find("p", "nosuch", "v0").error().message, HasSubstr("no artifact"));
}

TEST_P(ArtifactsTest, paths_that_would_leave_the_folder_are_refused) {
  for (const char* bad : {"", "/etc/passwd", "../x", "a/../b", "a//b", "./a", "a/"}) {
    EXPECT_FALSE(artifacts_->commit(draft({file(bad, 'a')}), 1)) << bad;
  }
  EXPECT_FALSE(artifacts_->commit(draft({file("a", 'a'), file("a", 'b')}), 1));
  ArtifactDraft other_type = draft({file("a", 'a')});
  commit(draft({file("a", 'a')}));
  other_type.type = "dataset";
  EXPECT_THAT(artifacts_->commit(other_type, 1).error().message, HasSubstr("has the type 'model'"));
}

TEST_P(ArtifactsTest, removing_a_version_frees_only_what_nothing_else_holds) {
  const ArtifactFile a = file("a", 'a');
  const ArtifactFile b = file("b", 'b');
  const ArtifactFile c = file("c", 'c');
  const ArtifactVersion first = commit(draft({a, b, c}));
  commit(draft({a}));
  ASSERT_TRUE(store_->create_run({"p", "r"}, {}, 1));
  ASSERT_TRUE(store_->bind_file({"p", "r"}, {.path = "media/c", .size = 10, .digest = c.digest}));
  EXPECT_EQ(artifacts_->remove(first).value(), 10U);
  EXPECT_TRUE(has(a) && has(c));
  EXPECT_FALSE(has(b));
  // Numbers are not used again.
  EXPECT_EQ(commit(draft({file("a", 'd')})).version, 2);
}

TEST_P(ArtifactsTest, a_project_gets_no_more_than_its_quota) {
  artifacts_->set_project_quota(25);
  commit(draft({file("a", 'a'), file("b", 'b')}));
  EXPECT_EQ(artifacts_->check_quota("p", 6).error().kind, ErrorKind::Io);
  EXPECT_TRUE(artifacts_->check_quota("q", 25));
  const auto refused = artifacts_->commit(draft({file("a", 'a'), file("c", 'c')}), 1);
  EXPECT_THAT(refused.error().message, HasSubstr("No space left for project 'p'"));
  ArtifactDraft other = draft({file("x", 'a'), file("y", 'b')});  // costs nothing: it holds them
  other.name = "again";
  commit(other);
  ASSERT_TRUE(artifacts_->remove(artifacts_->find("p", "again", "v0").value()));
  ASSERT_TRUE(artifacts_->remove(artifacts_->find("p", "weights", "v0").value()));
  EXPECT_TRUE(artifacts_->check_quota("p", 25));
}

TEST_P(ArtifactsTest, lineage_goes_both_ways) {
  ArtifactDraft data{.project = "p", .name = "data", .type = "dataset", .files = {file("x", 'd')}};
  data.made_by = RunKey{"p", "prepare"};
  const ArtifactVersion set = commit(data);
  ArtifactDraft model = draft({file("a", 'a')});
  model.made_by = RunKey{"p", "train"};
  const ArtifactVersion weights = commit(model);
  ASSERT_TRUE(artifacts_->use(set, {"p", "train"}, 1));
  ASSERT_TRUE(artifacts_->use(set, {"p", "train"}, 2));
  ASSERT_TRUE(artifacts_->use(weights, {"q", "evaluate"}, 3));

  const auto of_train = artifacts_->of_run({"p", "train"});
  ASSERT_TRUE(of_train);
  ASSERT_EQ(of_train->made.size(), 1U);
  EXPECT_EQ(of_train->made[0].name, "weights");
  ASSERT_EQ(of_train->used.size(), 1U) << "used twice, and one version all the same";
  EXPECT_EQ(of_train->used[0].name, "data");

  const auto found = artifacts_->lineage(
      {.kind = LineageNode::Kind::Artifact, .project = "p", .name = "weights", .version = 0});
  ASSERT_TRUE(found);
  std::vector<std::string> edges;
  for (const LineageEdge& edge : found->edges) {
    edges.push_back(found->nodes[edge.from].name + " > " + found->nodes[edge.to].name);
  }
  EXPECT_THAT(edges, testing::UnorderedElementsAre("train > weights", "weights > evaluate",
                                                   "data > train", "prepare > data"));
  EXPECT_FALSE(found->is_cut);
  EXPECT_TRUE(artifacts_->lineage(found->nodes[0], 2)->is_cut);
  EXPECT_EQ(artifacts_->users(set)->size(), 1U);
}

}  // namespace
}  // namespace kedge::store
