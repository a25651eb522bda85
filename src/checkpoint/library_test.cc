#include "checkpoint/library.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "checkpoint/tensor_file.h"
#include "core/file.h"
#include "core/result.h"
#include "core/scratch_folder.h"

namespace kedge::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kStep = 10;

void save(const Path& path, std::int64_t step, const nlohmann::json& score = nullptr) {
  const std::vector<std::uint8_t> bytes(64, static_cast<std::uint8_t>(step));
  const std::vector<Part> parts = {{"model", {{"weight", DType::F32, {16}, bytes}}}};
  const auto written =
      write_checkpoint(path, parts, {{"step", step}, {"epoch", step / kStep}, {"score", score}});
  ASSERT_TRUE(written) << written.error().message;
}

void flip_last_byte(const Path& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(-1, std::ios::end);
  const auto byte = static_cast<char>(file.get() ^ 1);
  file.seekp(-1, std::ios::end);
  file.put(byte);
}

std::vector<std::string> names_of(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) {
    names.push_back((entry.is_fast ? "fast " : "") + entry.name);
  }
  return names;
}

class LibraryTest : public testing::Test {
 protected:
  void save(const std::string& name, std::int64_t step, const nlohmann::json& score = nullptr) {
    checkpoint::save(folders_.durable / name, step, score);
  }

  ScratchFolder scratch_;
  Folders folders_{.durable = scratch_ / "durable", .fast = scratch_ / "fast"};
};

TEST_F(LibraryTest, lists_by_step_and_leaves_out_what_is_no_checkpoint) {
  save("step-9", 9, 0.5);
  save("step-10", 10);
  save("a", 3);
  save("gone.bad", 99);
  save("gone.bad-2", 99);
  save("half.tmp-77", 99);
  checkpoint::save(folders_.fast / "step-10", 10);
  checkpoint::save(folders_.fast / "step-11", 11);
  std::filesystem::create_directory_symlink("step-9", folders_.durable / "best");
  std::filesystem::create_directory(folders_.durable / "notes");
  std::ofstream(folders_.durable / "readme.txt") << "hello";
  const auto listing = list_checkpoints(folders_);
  ASSERT_TRUE(listing);
  EXPECT_THAT(names_of(listing->entries),
              ElementsAre("a", "step-9", "fast step-10", "step-10", "fast step-11"));
  EXPECT_THAT(listing->bad, IsEmpty());
  const Entry& entry = listing->entries[1];
  EXPECT_EQ(entry.score, 0.5);
  EXPECT_EQ(entry.epoch, 0);
  std::uint64_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(entry.path)) {
    bytes += file.file_size();
  }
  EXPECT_EQ(entry.bytes, bytes);
}

TEST_F(LibraryTest, a_folder_that_does_not_exist_is_empty_and_a_file_is_an_error) {
  EXPECT_THAT(list_checkpoints(folders_)->entries, IsEmpty());
  EXPECT_FALSE(open_newest(folders_)->checkpoint);
  std::ofstream(folders_.durable) << "not a folder";
  EXPECT_FALSE(list_checkpoints(folders_));
  EXPECT_FALSE(open_newest(folders_));
}

TEST_F(LibraryTest, opens_the_newest_and_prefers_durable_storage) {
  save("step-1", 1);
  save("step-2", 2);
  checkpoint::save(folders_.fast / "step-2", 2);
  const auto durable = open_newest(folders_);
  ASSERT_TRUE(durable && durable->checkpoint);
  EXPECT_EQ(durable->entry.path, folders_.durable / "step-2");
  checkpoint::save(folders_.fast / "step-3", 3);
  EXPECT_EQ(open_newest(folders_)->entry.path, folders_.fast / "step-3");
}

TEST_F(LibraryTest, damaged_ones_are_kept_aside_and_the_next_older_is_taken) {
  save("step-1", 1);
  save("step-2", 2);
  save("step-3", 3);
  save("step-4", 4);
  flip_last_byte(folders_.durable / "step-2/model.safetensors");
  flip_last_byte(folders_.durable / "step-3/manifest.json");
  std::filesystem::remove(folders_.durable / "step-4/manifest.json");
  const auto newest = open_newest(folders_);
  ASSERT_TRUE(newest && newest->checkpoint);
  EXPECT_EQ(newest->entry.step, 1);
  EXPECT_EQ(newest->checkpoint->state()["step"], 1);
  std::vector<std::string> bad;
  for (const Bad& one : newest->bad) {
    bad.push_back(one.path.filename());
    EXPECT_TRUE(std::filesystem::exists(one.path / "model.safetensors"));
    EXPECT_EQ(one.error.kind, ErrorKind::Corrupt);
  }
  EXPECT_THAT(bad, ElementsAre("step-3.bad", "step-4.bad", "step-2.bad"));
  EXPECT_THAT(newest->bad[2].error.message, HasSubstr("tensor 'weight'"));
  EXPECT_THAT(open_newest(folders_)->bad, IsEmpty());
  save("step-2", 2);
  flip_last_byte(folders_.durable / "step-2/model.safetensors");
  EXPECT_EQ(open_newest(folders_)->bad[0].path.filename(), "step-2.bad-2");
}

TEST_F(LibraryTest, a_damaged_replacement_gives_way_to_the_one_it_replaced) {
  save("last", 1);
  std::filesystem::rename(folders_.durable / "last", folders_.durable / "last.old");
  EXPECT_THAT(names_of(list_checkpoints(folders_)->entries), ElementsAre("last"));
  EXPECT_EQ(open_newest(folders_)->entry.step, 1);
  save("new", 2);
  std::filesystem::rename(folders_.durable / "new", folders_.durable / "last");
  EXPECT_EQ(open_newest(folders_)->entry.step, 2);
  flip_last_byte(folders_.durable / "last/model.safetensors");
  const auto newest = open_newest(folders_);
  ASSERT_TRUE(newest && newest->checkpoint);
  EXPECT_EQ(newest->entry.step, 1);
  EXPECT_EQ(newest->bad[0].path.filename(), "last.bad");
}

TEST_F(LibraryTest, the_best_is_found_by_score) {
  save("a", 1, 0.2);
  save("b", 2, 0.9);
  save("c", 3, 0.9);
  save("d", 4, 0.1);
  save("e", 5);
  const auto listing = list_checkpoints(folders_);
  EXPECT_EQ(find_best(listing->entries, true)->name, "b");
  EXPECT_EQ(find_best(listing->entries, false)->name, "d");
  EXPECT_EQ(find_best({}, true), nullptr);
}

std::vector<Entry> make_entries(std::int64_t count) {
  std::vector<Entry> entries;
  for (std::int64_t i = 1; i <= count; ++i) {
    Entry entry;
    entry.name = std::to_string(i * kStep);
    entry.path = entry.name;
    entry.step = i * kStep;
    entry.epoch = i;
    entries.push_back(entry);
  }
  return entries;
}

TEST_F(LibraryTest, retention_keeps_the_last_and_the_best) {
  auto entries = make_entries(6);
  entries[0].score = 0.3;
  entries[1].score = 0.7;
  entries[2].score = std::numeric_limits<double>::quiet_NaN();
  entries[3].score = 0.5;
  EXPECT_THAT(names_of(choose_expired(entries, {.keep_last = 2, .keep_best = 1})),
              ElementsAre("10", "30", "40"));
  EXPECT_THAT(
      names_of(choose_expired(entries, {.keep_last = 1, .keep_best = 2, .more_is_better = false})),
      ElementsAre("20", "30", "50"));
  EXPECT_THAT(names_of(choose_expired(entries, {.keep_last = 0, .keep_best = 0})),
              ElementsAre("10", "20", "30", "40", "50"));
  EXPECT_THAT(choose_expired(entries, {.keep_last = 99, .keep_best = 0}), IsEmpty());
  EXPECT_THAT(choose_expired({}, {}), IsEmpty());
}

TEST_F(LibraryTest, retention_keeps_every_nth_for_ever) {
  const auto entries = make_entries(9);
  // Steps 10 to 90; the first at or after 25, 50 and 75.
  EXPECT_THAT(
      names_of(choose_expired(entries, {.keep_last = 1, .keep_best = 0, .keep_every_steps = 25})),
      ElementsAre("10", "20", "40", "60", "70"));
  EXPECT_THAT(
      names_of(choose_expired(entries, {.keep_last = 1, .keep_best = 0, .keep_every_epochs = 4})),
      ElementsAre("10", "20", "30", "50", "60", "70"));
}

// What is kept must not depend on how often retention ran.
TEST_F(LibraryTest, retention_after_every_save_keeps_what_one_at_the_end_keeps) {
  const Retention retention{.keep_last = 2, .keep_best = 0, .keep_every_steps = 25};
  std::vector<Entry> kept;
  const auto all = make_entries(40);
  for (const Entry& entry : all) {
    kept.push_back(entry);
    for (const Entry& expired : choose_expired(kept, retention)) {
      std::erase_if(kept, [&](const Entry& other) { return other.path == expired.path; });
    }
  }
  auto once = all;
  for (const Entry& expired : choose_expired(all, retention)) {
    std::erase_if(once, [&](const Entry& other) { return other.path == expired.path; });
  }
  EXPECT_EQ(names_of(kept), names_of(once));
  EXPECT_EQ(kept.size(), 17U);  // 25, 50, ..., 400 are 16, and the last two: 390 and 400
}

TEST_F(LibraryTest, links_are_relative_and_replaced) {
  save("a", 1, 0.9);
  save("b", 2, 0.5);
  const auto listing = list_checkpoints(folders_);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(update_links(folders_.durable, listing->entries, i == 0));
    EXPECT_EQ(std::filesystem::read_symlink(folders_.durable / "last"), "b");
    EXPECT_EQ(std::filesystem::read_symlink(folders_.durable / "best"), i == 0 ? "a" : "b");
  }
  EXPECT_EQ(Checkpoint::open(folders_.durable / "best")->state()["step"], 2);
}

TEST_F(LibraryTest, names_are_rendered_and_checked) {
  const NameFields fields{.step = 120, .epoch = 3, .seed = 42, .run = "quick-fox"};
  EXPECT_EQ(*render_name("step-{step:08}", fields), "step-00000120");
  EXPECT_EQ(*render_name("{run}.s{seed}-e{epoch}", fields), "quick-fox.s42-e3");
  for (const char* bad : {"{stp}", "{step", "a/{step}", ".{step}", "", "last", "x.old", "x.bad",
                          "x.bad-{epoch}", "x.tmp-{step}", "{step:q}", "a\nb", "{run:300}"}) {
    const auto name = render_name(bad, fields);
    ASSERT_FALSE(name) << bad;
    EXPECT_EQ(name.error().kind, ErrorKind::Usage) << bad;
    EXPECT_THAT(name.error().message, HasSubstr(bad));
  }
}

}  // namespace
}  // namespace kedge::checkpoint
