#include "checkpoint/saver.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "checkpoint/library.h"
#include "checkpoint/tensor_file.h"
#include "core/file.h"
#include "core/result.h"
#include "core/scratch_folder.h"
#include "core/small_disk.h"

namespace kedge::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

Save make_save(std::int64_t step, std::size_t bytes = 400) {
  auto memory = std::make_shared<std::vector<std::uint8_t>>(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    (*memory)[i] = static_cast<std::uint8_t>(static_cast<std::size_t>(step) + i * 7);
  }
  const auto count = static_cast<std::int64_t>(bytes / 4);
  return {.name = "step-" + std::to_string(step),
          .parts = {{"model", {{"weight", DType::F32, {count}, *memory}}},
                    {"optimizer", {{"weight.m", DType::F32, {count}, *memory}}}},
          .state = {{"step", step}, {"epoch", 1}, {"score", 1.0 / static_cast<double>(step)}},
          .memory = memory};
}

std::vector<std::string> names_in(const Path& folder) {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    names.push_back(file.path().filename());
  }
  return names;
}

class SaverTest : public testing::Test {
 protected:
  ScratchFolder scratch_;
  SaverOptions options_{.folders = {.durable = scratch_ / "checkpoints"}, .retention = {}};
};

TEST_F(SaverTest, saves_verify_and_retention_removes_the_rest) {
  Saver saver(options_);
  for (std::int64_t step = 1; step <= 5; ++step) {
    Save save = make_save(step);
    const std::weak_ptr<void> memory = save.memory;
    saver.start(std::move(save));
    saver.wait();
    EXPECT_FALSE(saver.is_busy());
    EXPECT_TRUE(memory.expired());
  }
  const auto reports = saver.take_reports();
  ASSERT_EQ(reports.size(), 5U);
  for (const SaveReport& report : reports) {
    EXPECT_TRUE(report.result) << report.result.error().message;
    EXPECT_TRUE(report.is_durable);
    EXPECT_THAT(report.trouble, IsEmpty());
    EXPECT_GT(report.bytes, 800U);
  }
  EXPECT_THAT(reports[4].removed, ElementsAre("step-3"));
  // The best is the first: the score falls.
  EXPECT_THAT(names_in(options_.folders.durable),
              UnorderedElementsAre("step-1", "step-4", "step-5", "last", "best"));
  EXPECT_EQ(open_newest(options_.folders)->entry.step, 5);
  EXPECT_EQ(std::filesystem::read_symlink(options_.folders.durable / "best"), "step-1");
  EXPECT_THAT(saver.take_reports(), IsEmpty());
}

// Changes the last byte of every shard that is written but not yet committed below `folder`.
void damage_uncommitted(const Path& folder) {
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string parent = file.path().parent_path().filename();
    if (file.path().extension() == ".safetensors" && parent.find(".tmp-") != std::string::npos) {
      std::fstream stream(file.path(), std::ios::in | std::ios::out | std::ios::binary);
      stream.seekp(-1, std::ios::end);
      stream.put('?');
    }
  }
}

TEST_F(SaverTest, what_does_not_verify_is_set_aside_and_nothing_is_removed) {
  options_.retention.keep_last = 1;
  options_.retention.keep_best = 0;
  bool is_damaging = false;
  options_.before_commit = [&]() -> Result<void> {
    if (is_damaging) {
      damage_uncommitted(options_.folders.durable);
    }
    return {};
  };
  Saver saver(options_);
  saver.start(make_save(1));
  saver.wait();
  is_damaging = true;
  saver.start(make_save(2));
  saver.wait();
  // The same name again: the one that was there comes back.
  Save again = make_save(3);
  again.name = "step-1";
  saver.start(std::move(again));
  saver.wait();
  const auto reports = saver.take_reports();
  EXPECT_TRUE(reports[0].result);
  EXPECT_EQ(reports[1].result.error().kind, ErrorKind::Corrupt);
  EXPECT_EQ(reports[2].result.error().kind, ErrorKind::Corrupt);
  EXPECT_THAT(names_in(options_.folders.durable),
              UnorderedElementsAre("step-1", "step-1.bad", "step-2.bad", "last", "best"));
  EXPECT_EQ(open_newest(options_.folders)->entry.step, 1);
}

TEST_F(SaverTest, before_commit_can_abandon_a_save) {
  options_.before_commit = [] { return fail(ErrorKind::Unavailable, "the lease is gone"); };
  Saver saver(options_);
  saver.start(make_save(1));
  saver.wait();
  EXPECT_EQ(saver.take_reports()[0].result.error().message, "the lease is gone");
  EXPECT_THAT(names_in(options_.folders.durable), IsEmpty());
}

TEST_F(SaverTest, the_same_name_is_replaced) {
  Saver saver(options_);
  for (const std::int64_t step : {1, 2}) {
    Save save = make_save(step);
    save.name = "only";
    saver.start(std::move(save));
    saver.wait();
  }
  EXPECT_EQ(open_newest(options_.folders)->entry.step, 2);
  EXPECT_THAT(names_in(options_.folders.durable), UnorderedElementsAre("only", "last", "best"));
}

TEST_F(SaverTest, a_save_may_start_while_the_one_before_is_verified) {
  Saver saver(options_);
  for (std::int64_t step = 1; step <= 20; ++step) {
    while (saver.is_busy()) {
      std::this_thread::yield();
    }
    saver.start(make_save(step));
  }
  saver.wait();
  EXPECT_EQ(saver.take_reports().size(), 20U);
  EXPECT_EQ(open_newest(options_.folders)->entry.step, 20);
}

// Notes between two writers of one process; what the test holds back is waited for.
class Notes {
 public:
  void hold(const std::string& key) {
    const std::scoped_lock lock(mutex_);
    held_.insert(key);
  }

  void let_go(const std::string& key) {
    const std::scoped_lock lock(mutex_);
    held_.erase(key);
    changed_.notify_all();
  }

  void wait_until_asked(const std::string& key) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return asked_.contains(key); });
  }

  Writers writer(std::int64_t index) {
    return {.index = index,
            .count = 2,
            .put =
                [this](const std::string& key, const std::string& text) {
                  const std::scoped_lock lock(mutex_);
                  notes_[key] = text;
                  changed_.notify_all();
                },
            .take =
                [this](const std::string& key) {
                  std::unique_lock lock(mutex_);
                  asked_.insert(key);
                  changed_.notify_all();
                  changed_.wait(lock, [&] { return notes_.contains(key) && !held_.contains(key); });
                  return notes_[key];
                }};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> notes_;
  std::set<std::string> held_;
  std::set<std::string> asked_;
};

// One of the two parts of make_save().
Save make_half(std::int64_t step, std::size_t part) {
  Save save = make_save(step);
  save.parts = {save.parts[part]};
  return save;
}

// The memory of a save is the next one's as soon as is_busy() says so. A writer that gave it free a
// second time let the save after that one overwrite it: a checkpoint of two steps.
TEST_F(SaverTest, a_writer_that_hears_late_how_a_save_ended_keeps_the_next_ones_memory) {
  Notes notes;
  notes.hold("save/1/done");
  notes.hold("save/2/open");
  SaverOptions first_options = options_;
  first_options.writers = notes.writer(0);
  options_.writers = notes.writer(1);
  Saver first(first_options);
  Saver second(options_);
  first.start(make_half(1, 0));
  second.start(make_half(1, 1));
  while (second.is_busy()) {
    std::this_thread::yield();
  }
  first.wait();
  first.start(make_half(2, 0));
  second.start(make_half(2, 1));
  notes.let_go("save/1/done");
  notes.wait_until_asked("save/2/open");
  EXPECT_TRUE(second.is_busy());
  notes.let_go("save/2/open");
  second.wait();
  first.wait();
  EXPECT_FALSE(second.is_busy());
  const auto newest = open_newest(options_.folders);
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->entry.step, 2);
  EXPECT_THAT(newest->checkpoint->part_names(), ElementsAre("model", "optimizer"));
}

TEST_F(SaverTest, leftovers_of_dead_processes_are_cleaned_up) {
  const Path folder = options_.folders.durable;
  const Save one = make_save(1);
  ASSERT_TRUE(write_checkpoint(folder / "a.old", one.parts, one.state));
  ASSERT_TRUE(write_checkpoint(folder / "b", one.parts, one.state));
  ASSERT_TRUE(write_checkpoint(folder / "b.old", one.parts, one.state));
  std::filesystem::create_directories(folder / "c.tmp-4711");
  std::filesystem::create_directories(folder / "user.tmp-files");
  const Saver saver(options_);
  EXPECT_THAT(names_in(folder), UnorderedElementsAre("a", "b", "user.tmp-files"));
}

class FastTierTest : public SaverTest {
 protected:
  FastTierTest() { options_.folders.fast = scratch_ / "fast"; }
};

TEST_F(FastTierTest, saves_go_to_the_fast_folder_and_are_copied) {
  Saver saver(options_);
  for (std::int64_t step = 1; step <= 4; ++step) {
    saver.start(make_save(step));
    saver.wait();
  }
  const auto reports = saver.take_reports();
  ASSERT_EQ(reports.size(), 8U);
  EXPECT_FALSE(reports[6].is_durable);
  EXPECT_TRUE(reports[7].is_durable);
  for (const SaveReport& report : reports) {
    EXPECT_TRUE(report.result);
    EXPECT_GT(report.bytes, 800U);
  }
  EXPECT_EQ(reports[7].step, 4);
  EXPECT_THAT(names_in(options_.folders.fast), ElementsAre("step-4"));
  EXPECT_THAT(names_in(options_.folders.durable),
              UnorderedElementsAre("step-1", "step-3", "step-4", "last", "best"));
  const auto durable = open_newest({.durable = options_.folders.durable});
  EXPECT_EQ(durable->entry.step, 4);
  EXPECT_TRUE(std::ranges::equal(durable->checkpoint->part("model").tensors()[0].bytes,
                                 make_save(4).parts[0].tensors[0].bytes));
}

TEST_F(FastTierTest, what_a_dead_process_left_in_the_fast_folder_is_copied) {
  const Save one = make_save(1);
  ASSERT_TRUE(write_checkpoint(options_.folders.fast / one.name, one.parts, one.state));
  Saver saver(options_);
  saver.wait();
  EXPECT_TRUE(saver.take_reports().at(0).is_durable);
  EXPECT_EQ(open_newest({.durable = options_.folders.durable})->entry.step, 1);
}

TEST_F(FastTierTest, damage_in_the_fast_folder_is_found_by_the_copy) {
  const Save one = make_save(1);
  ASSERT_TRUE(write_checkpoint(options_.folders.fast / "step-1.tmp-1", one.parts, one.state));
  damage_uncommitted(options_.folders.fast);
  std::filesystem::rename(options_.folders.fast / "step-1.tmp-1", options_.folders.fast / "step-1");
  Saver saver(options_);
  saver.wait();
  EXPECT_EQ(saver.take_reports().at(0).result.error().kind, ErrorKind::Corrupt);
  EXPECT_THAT(names_in(options_.folders.fast), ElementsAre("step-1.bad"));
  EXPECT_THAT(names_in(options_.folders.durable), IsEmpty());
}

TEST_F(FastTierTest, a_full_fast_folder_is_passed_by) {
  const SmallDisk disk(64);
  if (!disk.is_mounted()) {
    GTEST_SKIP() << "mounting a tmpfs needs root";
  }
  options_.folders.fast = disk.path();
  Saver saver(options_);
  saver.start(make_save(1, 100'000));
  saver.wait();
  const auto reports = saver.take_reports();
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_TRUE(reports[0].result);
  EXPECT_TRUE(reports[0].is_durable);
  ASSERT_EQ(reports[0].trouble.size(), 1U);
  EXPECT_THAT(reports[0].trouble[0].message, HasSubstr("saving straight to"));
  EXPECT_EQ(open_newest({.durable = options_.folders.durable})->entry.step, 1);
}

TEST_F(FastTierTest, a_full_durable_disk_leaves_the_fast_copy) {
  const SmallDisk disk(64);
  if (!disk.is_mounted()) {
    GTEST_SKIP() << "mounting a tmpfs needs root";
  }
  options_.folders.durable = disk.path();
  Saver saver(options_);
  saver.start(make_save(1, 100'000));
  saver.wait();
  const auto reports = saver.take_reports();
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_TRUE(reports[0].result);
  EXPECT_EQ(reports[1].result.error().kind, ErrorKind::Io);
  EXPECT_THAT(names_in(disk.path()), IsEmpty());
  EXPECT_EQ(open_newest(options_.folders)->entry.step, 1);
}

Save with_frozen(Save save) {
  static const std::vector<std::uint8_t> bytes(800, 7);
  save.parts.insert(
      save.parts.begin(),
      Part{.name = "model", .tensors = {{"base", DType::F32, {200}, bytes}}, .is_frozen = true});
  return save;
}

std::uintmax_t links_of(const Path& file) {
  return std::filesystem::hard_link_count(file);
}

TEST_F(SaverTest, frozen_tensors_are_written_once_and_linked) {
  const Path& folder = options_.folders.durable;
  Saver saver(options_);
  for (std::int64_t step = 1; step <= 3; ++step) {
    saver.start(with_frozen(make_save(step)));
    saver.wait();
  }
  for (const SaveReport& report : saver.take_reports()) {
    ASSERT_TRUE(report.result) << report.result.error().message;
  }
  // Retention has removed the first, which wrote the file; best and newest are left.
  const auto names = names_in(folder);
  const auto kept = std::ranges::count_if(
      names, [](const std::string& name) { return name.starts_with("step-"); });
  EXPECT_EQ(links_of(folder / "step-3/model-frozen.safetensors"), kept);
  EXPECT_EQ(links_of(folder / "step-3/model.safetensors"), 1);

  const auto saved = Checkpoint::open(folder / "step-3");
  ASSERT_TRUE(saved) << saved.error().message;
  ASSERT_TRUE(saved->verify());
  EXPECT_THAT(saved->part_names(), ElementsAre("model", "optimizer"));
  std::vector<std::string> tensors;
  for (const TensorView& tensor : saved->part("model").tensors()) {
    tensors.push_back(tensor.name);
  }
  EXPECT_THAT(tensors, ElementsAre("base", "weight"));
}

TEST_F(SaverTest, frozen_tensors_are_written_again_where_their_file_is_gone) {
  const Path& folder = options_.folders.durable;
  Saver saver(options_);
  saver.start(with_frozen(make_save(1)));
  saver.wait();
  std::filesystem::remove_all(folder / "step-1");
  saver.start(with_frozen(make_save(2)));
  saver.wait();
  ASSERT_TRUE(open_tensors(folder / "step-2"));
  EXPECT_EQ(links_of(folder / "step-2/model-frozen.safetensors"), 1);
}

TEST_F(SaverTest, copies_of_a_fast_folder_link_frozen_tensors_too) {
  options_.folders.fast = scratch_ / "fast";
  const Path& folder = options_.folders.durable;
  for (std::int64_t step = 1; step <= 2; ++step) {
    Saver saver(options_);  // another process: the saver itself knows nothing of the save before
    saver.start(with_frozen(make_save(step)));
    saver.wait();
  }
  EXPECT_EQ(links_of(folder / "step-2/model-frozen.safetensors"), 2);
  EXPECT_EQ(links_of(folder / "step-2/model.safetensors"), 1);
}

}  // namespace
}  // namespace kedge::checkpoint
