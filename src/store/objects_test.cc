#include "store/objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "store/test_backend.h"

namespace kedge::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ObjectsTest : public BackendTest {
 protected:
  void put(const Object& object) {
    ASSERT_TRUE(store_->change(
        [&](Database& database) -> Result<void> { return Objects(database).put(object); }));
  }

  std::optional<Object> find(const std::string& id) {
    std::optional<Object> found;
    EXPECT_TRUE(store_->read([&](Database& database) -> Result<void> {
      found = KEDGE_TRY(Objects(database).find("note", id));
      return {};
    }));
    return found;
  }

  std::vector<std::string> ids(const std::string& parent) {
    std::vector<std::string> ids;
    EXPECT_TRUE(store_->read([&](Database& database) -> Result<void> {
      for (const Object& object : KEDGE_TRY(Objects(database).list("note", parent))) {
        ids.push_back(object.id);
      }
      return {};
    }));
    return ids;
  }
};

KEDGE_EACH_BACKEND(ObjectsTest);

TEST_P(ObjectsTest, what_is_put_comes_back_after_a_restart) {
  const nlohmann::json body = {{"text", "gr\u00fcn"}, {"list", {1, 2.5, nullptr}}};
  put({.kind = "note", .id = "a", .parent = "p", .name = "n", .created_us = 5, .body = body});
  reopen();
  const auto found = find("a");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->project, std::nullopt);
  EXPECT_EQ(found->parent, "p");
  EXPECT_EQ(found->name, "n");
  EXPECT_EQ(found->created_us, 5);
  EXPECT_EQ(found->body, body);
  EXPECT_FALSE(find("b"));
}

TEST_P(ObjectsTest, putting_again_replaces_all_but_the_time_of_creation) {
  put({.kind = "note", .id = "a", .parent = "p", .created_us = 5, .body = {{"n", 1}}});
  put({.kind = "note", .id = "a", .parent = "q", .created_us = 9, .body = {{"n", 2}}});
  const auto found = find("a");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->created_us, 5);
  EXPECT_EQ(found->body["n"], 2);
  EXPECT_THAT(ids("p"), IsEmpty());
}

TEST_P(ObjectsTest, lists_are_of_one_kind_and_parent_and_the_oldest_is_first) {
  put({.kind = "note", .id = "b", .parent = "p", .name = "second", .created_us = 2});
  put({.kind = "note", .id = "a", .parent = "p", .name = "third", .created_us = 3});
  put({.kind = "note", .id = "c", .parent = "p", .name = "first", .created_us = 1});
  put({.kind = "note", .id = "d", .parent = "q", .created_us = 1});
  put({.kind = "other", .id = "a", .parent = "p", .created_us = 1});
  EXPECT_THAT(ids("p"), ElementsAre("c", "b", "a"));
  ASSERT_TRUE(store_->change([](Database& database) -> Result<void> {
    Objects objects(database);
    EXPECT_EQ(KEDGE_TRY(objects.find_named("note", "p", "second"))->id, "b");
    EXPECT_EQ(KEDGE_TRY(objects.list("note")).size(), 4U);
    EXPECT_EQ(KEDGE_TRY(objects.count("note", "p")), 3);
    KEDGE_TRY(objects.remove("note", "b"));
    return objects.remove_all("note", "q");
  }));
  EXPECT_THAT(ids("p"), ElementsAre("c", "a"));
  EXPECT_THAT(ids("q"), IsEmpty());
}

}  // namespace
}  // namespace kedge::store
