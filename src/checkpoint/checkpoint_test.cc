#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "checkpoint/internal/manifest.h"
#include "checkpoint/tensor_file.h"
#include "core/file.h"
#include "core/flip_byte.h"
#include "core/hash.h"
#include "core/result.h"
#include "core/scratch_folder.h"
#include "core/small_disk.h"

namespace kedge::checkpoint {
namespace {

using testing::HasSubstr;

// Two parts; the model has a tensor of more than one hashed chunk when `large`.
class Sample {
 public:
  explicit Sample(std::uint8_t seed, bool large = false)
      : weight_(large ? (9U << 20U) : 400U), step_(8) {
    for (std::size_t i = 0; i < weight_.size(); ++i) {
      weight_[i] = static_cast<std::uint8_t>(seed + i * 7 + (i >> 8U));
    }
    step_[0] = seed;
    const auto count = static_cast<std::int64_t>(weight_.size() / 4);
    parts_ = {
        {"model", {{"weight", DType::F32, {count}, weight_}, {"bias", DType::U8, {8}, step_}}},
        {"optimizer", {{"weight.step", DType::I64, {}, step_}}}};
  }

  const std::vector<Part>& parts() const { return parts_; }

 private:
  std::vector<std::uint8_t> weight_;
  std::vector<std::uint8_t> step_;
  std::vector<Part> parts_;
};

class CheckpointTest : public testing::Test {
 protected:
  void save(std::uint8_t seed, bool large = false) {
    const auto written =
        write_checkpoint(path_, Sample(seed, large).parts(), {{"seed", seed}, {"lr", 0.1}});
    ASSERT_TRUE(written) << written.error().message;
  }

  // The error of opening and verifying, or an empty one when both succeed.
  Error check() const {
    const auto checkpoint = Checkpoint::open(path_);
    if (!checkpoint) {
      return checkpoint.error();
    }
    const auto verified = checkpoint->verify();
    return verified ? Error{.kind = ErrorKind::Io, .message = ""} : verified.error();
  }

  ScratchFolder folder_;
  Path path_ = folder_ / "step-7";
};

TEST_F(CheckpointTest, state_and_parts_come_back) {
  save(5);
  const auto checkpoint = Checkpoint::open(path_);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_EQ(checkpoint->state(), (nlohmann::json{{"seed", 5}, {"lr", 0.1}}));
  EXPECT_TRUE(checkpoint->has_part("optimizer"));
  EXPECT_FALSE(checkpoint->has_part("ema"));
  EXPECT_TRUE(checkpoint->part("optimizer").tensors()[0].shape.empty());
  EXPECT_EQ(checkpoint->part("optimizer").tensors()[0].bytes[0], 5);
  EXPECT_TRUE(checkpoint->verify());
  EXPECT_EQ((*open_tensors(path_))->tensors().size(), 2U);
  EXPECT_EQ((*open_tensors(path_ / ""))->tensors()[0].name, "weight");
}

TEST_F(CheckpointTest, every_flipped_byte_of_every_file_is_found) {
  save(5);
  for (const char* name : {"manifest.json", "model.safetensors", "optimizer.safetensors"}) {
    const Path file = path_ / name;
    const std::uint64_t size = std::filesystem::file_size(file);
    for (std::size_t at = 0; at < size; ++at) {
      flip_byte(file, at);
      EXPECT_EQ(check().kind, ErrorKind::Corrupt) << name << " at " << at;
      flip_byte(file, at);
    }
  }
  EXPECT_EQ(check().message, "");
}

TEST_F(CheckpointTest, damage_is_located_within_a_chunk) {
  save(5, true);
  const std::uint64_t size = std::filesystem::file_size(path_ / "model.safetensors");
  flip_byte(path_ / "model.safetensors", size - 9);
  const Error error = check();
  EXPECT_EQ(error.kind, ErrorKind::Corrupt);
  EXPECT_THAT(error.message, HasSubstr("tensor 'weight' in shard model.safetensors"));
  EXPECT_THAT(error.message, HasSubstr(" to " + std::to_string(size - 8) + " of the file"));
}

TEST_F(CheckpointTest, truncated_and_missing_files_are_found) {
  for (const char* name : {"manifest.json", "model.safetensors", "optimizer.safetensors"}) {
    const Path file = path_ / name;
    save(5);
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
    EXPECT_EQ(check().kind, ErrorKind::Corrupt) << name;
    std::filesystem::resize_file(file, 0);
    EXPECT_EQ(check().kind, ErrorKind::Corrupt) << name;
    std::filesystem::remove(file);
    EXPECT_NE(check().message, "") << name;
    std::filesystem::remove_all(path_);
  }
  save(5);
  std::filesystem::remove(path_ / "optimizer.safetensors");
  EXPECT_THAT(check().message, HasSubstr("shard optimizer.safetensors is missing"));
}

TEST_F(CheckpointTest, a_shard_of_another_checkpoint_is_found) {
  save(5);
  const Path shard = path_ / "model.safetensors";
  std::filesystem::copy_file(shard, folder_ / "kept");
  save(6);
  std::filesystem::copy_file(folder_ / "kept", shard,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(check().kind, ErrorKind::Corrupt);
}

TEST_F(CheckpointTest, replacing_leaves_one_folder_with_the_new_state) {
  save(5);
  save(6);
  EXPECT_EQ(Checkpoint::open(path_)->state()["seed"], 6);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(CheckpointTest, a_crash_between_the_renames_loses_nothing) {
  save(5);
  std::filesystem::rename(path_, path_.string() + ".old");
  EXPECT_EQ(Checkpoint::open(path_)->state()["seed"], 5);
  save(6);
  EXPECT_EQ(Checkpoint::open(path_)->state()["seed"], 6);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(CheckpointTest, a_full_disk_leaves_the_old_checkpoint) {
  const SmallDisk disk(256);
  if (!disk.is_mounted()) {
    GTEST_SKIP() << "mounting a tmpfs needs root";
  }
  path_ = disk.path() / "last";
  save(5);
  const auto full = write_checkpoint(path_, Sample(6, true).parts(), {});
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().kind, ErrorKind::Io);
  EXPECT_THAT(full.error().message, HasSubstr("No space left"));
  EXPECT_EQ(check().message, "");
  EXPECT_EQ(Checkpoint::open(path_)->state()["seed"], 5);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(disk.path()), {}), 1);
}

TEST_F(CheckpointTest, a_folder_of_the_user_is_never_replaced) {
  std::filesystem::create_directory(path_);
  std::ofstream(path_ / "thesis.tex") << "years of work";
  const auto written = write_checkpoint(path_, Sample(1).parts(), {});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::Usage);
  EXPECT_TRUE(std::filesystem::exists(path_ / "thesis.tex"));
  EXPECT_THAT(Checkpoint::open(path_).error().message, HasSubstr("has no manifest.json"));
}

TEST_F(CheckpointTest, a_tower_of_brackets_in_the_state_is_an_error) {
  const std::string levels(1'000'000, '[');
  const std::string text = R"({"state":"\"[[\\","parts":)" + levels;
  const std::string whole =
      fmt::format("{},\n\"manifest_xxh3\":\"{:016x}\"}}\n", text, xxh3_64(as_bytes(text)));
  const auto manifest = parse_manifest("manifest.json", whole);
  ASSERT_FALSE(manifest);
  EXPECT_THAT(manifest.error().message, HasSubstr("nested deeper than 64 levels"));
}

}  // namespace
}  // namespace kedge::checkpoint
