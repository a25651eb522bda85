// Drafts of versions, portfolios and hosted sweeps, on each database.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "store/dialect/artifact_drafts.h"
#include "store/dialect/portfolios.h"
#include "store/hosted_sweeps.h"
#include "store/test_backend.h"

namespace kedge::store {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

class CollectionsTest : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (!IsSkipped()) {
      blobs_ = *BlobStore::open((folder_.path() / "blobs").string());
      artifacts_ = std::make_unique<Artifacts>(*store_, *blobs_);
    }
  }

  ArtifactDrafts drafts() { return {*store_, *artifacts_}; }

  // A committed version whose one file has this text.
  VersionDraft make_version(const std::string& name, const std::string& text) {
    VersionDraft draft{.project = "p", .name = name, .type = "model", .digest = "d-" + text};
    draft.metadata = {{"acc", 0.5}};
    draft.aliases = {"latest", "best"};
    draft.client_id = "client-" + text;
    draft.sequence_client_id = "sequence-" + name;
    const VersionDraft made = drafts().create(draft, kNow).value();
    const StoredBlob blob = blobs_->put(text).value();
    EXPECT_TRUE(drafts().put_files(made.id, {{"a.txt", "md5-" + text, blob.digest, blob.size}}));
    EXPECT_TRUE(drafts().set_manifest(made.id, blobs_->put("manifest of " + text)->digest));
    const auto done = drafts().commit(
        made.id, {{.path = "a.txt", .digest = blob.digest, .size = blob.size}}, kNow);
    EXPECT_TRUE(done) << done.error().message;
    return done.value_or(VersionDraft());
  }

  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<Artifacts> artifacts_;
};

KEDGE_EACH_BACKEND(CollectionsTest);

TEST_P(CollectionsTest, what_lies_beside_runs_follows_a_project_to_its_new_name) {
  make_version("net", "one");
  Portfolios portfolios(*store_);
  const ArtifactVersion version = artifacts_->find("p", "net", "v0").value();
  ASSERT_TRUE(portfolios.link({.project = "p", .name = "best"}, version, {}, kNow));
  ASSERT_TRUE(portfolios.change_tags("p", "best", {"chosen"}, {}));
  ASSERT_TRUE(HostedSweeps(*store_).create({.project = "p", .name = "abcdefgh"}, kNow));
  const auto project = store_->create_project({.name = "p"}, kNow);
  ASSERT_TRUE(project) << project.error().message;
  ASSERT_TRUE(store_->patch_project(project->id, {.name = "q"}, kNow));

  const ArtifactVersion moved = artifacts_->find("q", "net", "v0").value();
  ASSERT_TRUE(drafts().find_version(moved).value());
  EXPECT_EQ(drafts().find_version(moved).value()->project, "q");
  ASSERT_TRUE(portfolios.find("q", "best").value());
  EXPECT_THAT(portfolios.tags("q", "best").value(), ElementsAre("chosen"));
  EXPECT_TRUE(HostedSweeps(*store_).find("q", "abcdefgh").value());
}

TEST_P(CollectionsTest, a_draft_becomes_a_version_once) {
  const VersionDraft pending =
      *drafts().create({.project = "p", .name = "n", .type = "model"}, kNow);
  EXPECT_EQ(pending.version, std::nullopt);
  EXPECT_EQ(drafts().find(pending.id)->type, "model");
  EXPECT_EQ(drafts().find(999).error().kind, ErrorKind::NotFound);

  const VersionDraft first = make_version("net", "one");
  EXPECT_EQ(first.version, 0);
  EXPECT_EQ(drafts().commit(first.id, {}, kNow)->version, 0);
  EXPECT_EQ(make_version("net", "two").version, 1);
  const ArtifactVersion best = *artifacts_->find("p", "net", "best");
  EXPECT_EQ(best.version, 1);
  EXPECT_EQ(best.metadata, (json{{"acc", 0.5}}));
  EXPECT_EQ((*drafts().find_version(best))->digest, "d-two");
  EXPECT_EQ((*drafts().find_client("client-one"))->id, first.id);
  EXPECT_EQ((*drafts().find_client("sequence-net"))->version, 1);
  EXPECT_EQ(*drafts().find_client("nobody"), std::nullopt);
}

TEST_P(CollectionsTest, bytes_are_found_by_their_md5_until_the_last_holder_is_gone) {
  const VersionDraft made = make_version("net", "one");
  EXPECT_EQ((*drafts().find_bytes("md5-one", ""))->draft, made.id);
  const std::string digest = (*drafts().find_bytes("md5-one", "p"))->digest;
  EXPECT_FALSE((*drafts().find_bytes("md5-one", "q")).has_value());
  ASSERT_TRUE(drafts().remove(made.id));
  EXPECT_TRUE(drafts().find(made.id)->is_deleted);
  EXPECT_FALSE((*drafts().find_bytes("md5-one", "")).has_value());
  EXPECT_EQ(*blobs_->find_size(digest), std::nullopt);
  EXPECT_EQ(blobs_->usage()->count, 0U);  // the manifest is gone, too
}

TEST_P(CollectionsTest, a_complete_version_keeps_its_manifest) {
  const VersionDraft made = make_version("net", "one");
  const std::string other = blobs_->put("another manifest").value().digest;
  ASSERT_TRUE(drafts().set_manifest(made.id, other));
  EXPECT_EQ(drafts().find(made.id)->manifest, made.manifest);
  EXPECT_NE(made.manifest, other);
}

TEST_P(CollectionsTest, what_is_said_of_a_version_can_change) {
  const VersionDraft made = make_version("net", "one");
  DraftPatch patch{.description = "words", .metadata = json{{"n", 1}}, .ttl_s = 60};
  patch.added_tags = {"a", "b", "a"};
  ASSERT_TRUE(drafts().patch(made.id, patch, kNow));
  ASSERT_TRUE(drafts().patch(made.id, {.removed_tags = {"b"}}, kNow));
  const VersionDraft found = *drafts().find(made.id);
  EXPECT_THAT(found.tags, ElementsAre("a"));
  EXPECT_EQ(found.ttl_s, 60);
  const ArtifactVersion version = *artifacts_->find("p", "net", "v0");
  EXPECT_EQ(version.description, "words");
  EXPECT_EQ(version.metadata, (json{{"n", 1}}));
}

TEST_P(CollectionsTest, portfolios_number_their_members_themselves) {
  make_version("net", "one");
  make_version("net", "two");
  Portfolios portfolios(*store_);
  const ArtifactVersion first = *artifacts_->find("p", "net", "v0");
  const ArtifactVersion second = *artifacts_->find("p", "net", "v1");
  EXPECT_EQ(portfolios.link({.project = "p", .name = "prod"}, second, {"x"}, kNow)->index, 0);
  const auto member = portfolios.link({.project = "p", .name = "prod"}, first, {"x"}, kNow);
  EXPECT_EQ(member->index, 1);
  EXPECT_THAT(member->aliases, ElementsAre("latest", "x"));
  EXPECT_EQ(portfolios.link({.project = "p", .name = "prod"}, first, {}, kNow)->index, 1);
  const std::int64_t id = (*portfolios.find("p", "prod"))->id;
  ASSERT_EQ(portfolios.members(id)->size(), 2U);
  EXPECT_THAT(portfolios.members(id)->at(1).aliases, IsEmpty());
  EXPECT_EQ(portfolios.links(first)->at(0).portfolio, id);
  ASSERT_TRUE(portfolios.unlink(id, first));
  EXPECT_EQ(portfolios.members(id)->size(), 1U);
  ASSERT_TRUE(artifacts_->remove(second));
  EXPECT_THAT(*portfolios.members(id), IsEmpty());
  ASSERT_TRUE(portfolios.change_tags("p", "prod", {"t", "u"}, {}));
  ASSERT_TRUE(portfolios.change_tags("p", "prod", {"t"}, {"u"}));
  EXPECT_THAT(*portfolios.tags("p", "prod"), ElementsAre("t"));
  ASSERT_TRUE(portfolios.remove(id));
  EXPECT_EQ(*portfolios.find("p", "prod"), std::nullopt);
}

TEST_P(CollectionsTest, sweeps_agents_and_trials_are_remembered) {
  HostedSweeps sweeps(*store_);
  HostedSweep sweep =
      *sweeps.create({.project = "p", .name = "abcd1234", .config = "method: random\n"}, kNow);
  EXPECT_EQ(sweep.state, SweepState::Pending);
  sweep.state = SweepState::Paused;
  ASSERT_TRUE(sweeps.put(sweep, kNow + 1));
  const SweepAgent agent = *sweeps.add_agent(sweep.id, "host", kNow);
  ASSERT_TRUE(sweeps.note_agent(agent.id, kNow + 5));
  ASSERT_TRUE(sweeps.add_trial(sweep.id, {1, "r1", agent.id, {{"lr", 0.1}}}));
  EXPECT_FALSE(sweeps.add_trial(sweep.id, {1, "r2", agent.id, {}}));  // taken
  reopen();
  HostedSweeps again(*store_);
  EXPECT_EQ((*again.find("p", "abcd1234"))->state, SweepState::Paused);
  EXPECT_EQ((*again.find_agent(agent.id))->heartbeat_us, kNow + 5);
  ASSERT_EQ(again.list_trials(sweep.id)->size(), 1U);
  EXPECT_EQ(again.list_trials(sweep.id)->at(0).values, (json{{"lr", 0.1}}));
  EXPECT_EQ(again.list("p")->size(), 1U);
  EXPECT_EQ(*again.find("q", "abcd1234"), std::nullopt);
}

}  // namespace
}  // namespace kedge::store
