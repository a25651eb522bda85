#include "store/models.h"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/test_backend.h"

namespace kedge::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ModelsTest : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (store_ != nullptr) {
      models_ = std::make_unique<Models>(*store_);
      ASSERT_TRUE(models_->create({.name = "digits"}, 1));
    }
  }

  ModelVersion add() { return models_->add_version({.model = "digits", .source = "s"}, 5).value(); }

  std::unique_ptr<Models> models_;
};

KEDGE_EACH_BACKEND(ModelsTest);

TEST_P(ModelsTest, versions_count_from_one_and_are_not_used_again) {
  EXPECT_EQ(add().version, 1);
  EXPECT_EQ(add().version, 2);
  ASSERT_TRUE(models_->remove_version("digits", 2, 6));
  EXPECT_EQ(add().version, 3);
  EXPECT_EQ(models_->find("digits")->versions.front().version, 3);
}

TEST_P(ModelsTest, an_alias_belongs_to_one_version) {
  add();
  add();
  ASSERT_TRUE(models_->set_alias("digits", "champion", 1));
  ASSERT_TRUE(models_->set_alias("digits", "champion", 2));
  EXPECT_THAT(models_->find_version("digits", 1)->aliases, IsEmpty());
  EXPECT_THAT(models_->find_version("digits", 2)->aliases, ElementsAre("champion"));
  ASSERT_TRUE(models_->remove_version("digits", 2, 6));
  EXPECT_THAT(models_->find("digits")->aliases, IsEmpty());
  EXPECT_EQ(models_->set_alias("digits", "champion", 9).error().kind, ErrorKind::NotFound);
}

TEST_P(ModelsTest, only_what_is_given_changes) {
  add();
  ASSERT_TRUE(
      models_->patch_version("digits", 1, {.description = "good", .tags = {{"a", "1"}}}, 7));
  ASSERT_TRUE(models_->patch_version("digits", 1, {.tags = {{"b", "2"}}, .stage = "Staging"}, 8));
  ASSERT_TRUE(models_->patch_version("digits", 1, {.removed_tags = {"a"}}, 9));
  const auto version = models_->find_version("digits", 1);
  ASSERT_TRUE(version);
  EXPECT_EQ(version->description, "good");
  EXPECT_EQ(version->stage, "Staging");
  EXPECT_THAT(version->tags, ElementsAre(testing::Pair("b", "2")));
  EXPECT_EQ(version->changed_us, 9);
  EXPECT_THAT(models_->patch_version("digits", 1, {.stage = "Produktion"}, 9).error().message,
              HasSubstr("Produktion"));
}

TEST_P(ModelsTest, a_version_that_moves_in_can_archive_those_that_are_there) {
  add();
  add();
  ASSERT_TRUE(models_->move_version("digits", 1, "Production", false, 7));
  ASSERT_TRUE(models_->move_version("digits", 2, "Production", true, 8));
  EXPECT_EQ(models_->find_version("digits", 1)->stage, "Archived");
  EXPECT_EQ(models_->find_version("digits", 2)->stage, "Production");
  EXPECT_EQ(models_->find("digits")->changed_us, 8);
  EXPECT_EQ(models_->move_version("digits", 9, "Staging", false, 9).error().kind,
            ErrorKind::NotFound);
}

TEST_P(ModelsTest, a_version_knows_where_it_came_from) {
  const auto made = models_->add_version({.model = "digits",
                                          .source = "models:/m-1",
                                          .run_link = "http://page",
                                          .model_id = "m-1",
                                          .location = "mlflow-artifacts:/0/models/m-1/artifacts"},
                                         5);
  ASSERT_TRUE(made);
  const auto found = models_->find_version("digits", 1);
  EXPECT_EQ(found->run_link, "http://page");
  EXPECT_EQ(found->model_id, "m-1");
  EXPECT_EQ(found->location, "mlflow-artifacts:/0/models/m-1/artifacts");
}

TEST_P(ModelsTest, a_renamed_model_keeps_its_versions) {
  add();
  ASSERT_TRUE(models_->create({.name = "taken"}, 1));
  EXPECT_FALSE(models_->rename("digits", "taken", 2));
  ASSERT_TRUE(models_->rename("digits", "numbers", 2));
  EXPECT_EQ(models_->find("numbers")->versions.size(), 1U);
  EXPECT_EQ(models_->find("digits").error().kind, ErrorKind::NotFound);
  EXPECT_FALSE(models_->create({.name = "numbers"}, 3));
  ASSERT_TRUE(models_->remove("numbers"));
  EXPECT_EQ(models_->list()->size(), 1U);
}

}  // namespace
}  // namespace kedge::store
