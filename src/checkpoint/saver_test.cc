#include "checkpoint/saver.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
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

namespace kedge::checkpoint {
namespace {

using testing::ElementsAre;
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

}  // namespace
}  // namespace kedge::checkpoint
