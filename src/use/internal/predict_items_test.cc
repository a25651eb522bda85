#include "use/internal/predict_items.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/scratch_folder.h"

namespace kedge::use {
namespace {

using testing::HasSubstr;

class PredictItemsTest : public testing::Test {
 protected:
  Path write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name) << text;
    return folder_.path() / name;
  }

  ScratchFolder folder_;
};

TEST_F(PredictItemsTest, a_folder_gives_its_images_sorted_by_path) {
  write("b/2.png", "");
  write("a.jpg", "");
  write("b/10.JPEG", "");
  write("b/notes.txt", "");
  const auto items = list_items(folder_.path(), ItemKind::Image);
  ASSERT_TRUE(items) << items.error().message;
  ASSERT_EQ(items->size(), 3U);
  EXPECT_EQ((*items)[0].id, "a.jpg");
  EXPECT_EQ((*items)[1].id, "b/10.JPEG");
  EXPECT_EQ((*items)[2].id, "b/2.png");
  EXPECT_EQ((*items)[2].image, folder_.path() / "b/2.png");
}

TEST_F(PredictItemsTest, records_name_images_beside_the_file_and_may_have_ids) {
  const Path file =
      write("in.jsonl", "{\"image\": \"x.png\", \"id\": 7}\n\n{\"image\": \"/y.png\"}\n");
  const auto items = list_items(file, ItemKind::Image);
  ASSERT_TRUE(items) << items.error().message;
  ASSERT_EQ(items->size(), 2U);
  EXPECT_EQ((*items)[0].id, "7");
  EXPECT_EQ((*items)[0].image, folder_.path() / "x.png");
  EXPECT_EQ((*items)[1].id, "3") << "the line's number";
  EXPECT_EQ((*items)[1].image, "/y.png");
}

TEST_F(PredictItemsTest, a_bad_record_is_named_by_its_line) {
  const auto torn =
      list_items(write("torn.jsonl", "{\"text\": \"a\"}\n{\"text\":"), ItemKind::Text);
  ASSERT_FALSE(torn);
  EXPECT_THAT(torn.error().message, HasSubstr("torn.jsonl:2"));
  const auto other = list_items(write("other.jsonl", "{\"image\": 5}\n"), ItemKind::Image);
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("other.jsonl:1"));
}

TEST_F(PredictItemsTest, a_text_file_is_one_item_of_a_language_model) {
  const auto items = list_items(write("t.txt", "hello"), ItemKind::Text);
  ASSERT_TRUE(items);
  EXPECT_EQ(items->front().text, "hello");
}

TEST_F(PredictItemsTest, nothing_to_predict_is_an_error) {
  EXPECT_FALSE(list_items(folder_.path(), ItemKind::Image));
  EXPECT_FALSE(list_items(folder_.path() / "gone.png", ItemKind::Image));
  EXPECT_FALSE(list_items(write("empty.jsonl", "\n"), ItemKind::Image));
}

}  // namespace
}  // namespace kedge::use
