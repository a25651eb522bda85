// Tensors that many ranks wrote, a piece each, read whole, in other pieces, and refused where they
// do not fit.
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "checkpoint/internal/folder.h"
#include "core/scratch_folder.h"

namespace kedge::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Ints = std::vector<std::int32_t>;

std::span<const std::uint8_t> bytes_of(const Ints& values) {
  return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * 4};
}

// 4 rows of 6: 0 to 23.
struct Written {
  Slice slice;
  Ints values;
};

class SlicesTest : public testing::Test {
 protected:
  // Writes the tensor "weight" as ranks would, one piece each.
  Result<Checkpoint> write_and_open(const std::vector<Written>& pieces) {
    std::vector<ShardEntry> entries;
    std::filesystem::create_directories(path_);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const TensorView view{.name = "weight",
                            .type = DType::I32,
                            .shape = pieces[i].slice.shape,
                            .bytes = bytes_of(pieces[i].values),
                            .slice_offset = pieces[i].slice.offset,
                            .whole_shape = {4, 6}};
      const Part part{.name = "model", .tensors = {view}};
      auto written = write_shards(path_, {&part, 1}, static_cast<std::int64_t>(i),
                                  static_cast<std::int64_t>(pieces.size()));
      EXPECT_TRUE(written);
      entries.insert(entries.end(), written->begin(), written->end());
    }
    EXPECT_TRUE(write_manifest(path_, std::move(entries), nlohmann::json::object()));
    return Checkpoint::open(path_);
  }

  static Ints read(const Checkpoint& checkpoint, const Slice& slice) {
    Ints values(static_cast<std::size_t>(slice.shape[0] * slice.shape[1]), -1);
    std::span<std::uint8_t> out(reinterpret_cast<std::uint8_t*>(values.data()), values.size() * 4);
    EXPECT_TRUE(checkpoint.read_slice("model", "weight", slice, out));
    return values;
  }

  ScratchFolder folder_;
  Path path_ = folder_ / "step-1";
};

// Two ranks have columns 0-1 and 2-5 of the upper rows, a third the lower rows.
const std::vector<Written> kPieces = {
    {{{0, 0}, {2, 2}}, {0, 1, 6, 7}},
    {{{0, 2}, {2, 4}}, {2, 3, 4, 5, 8, 9, 10, 11}},
    {{{2, 0}, {2, 6}}, {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
};

TEST_F(SlicesTest, pieces_are_one_tensor) {
  const auto checkpoint = write_and_open(kPieces);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  ASSERT_TRUE(checkpoint->verify());
  const auto& tensors = checkpoint->part("model").tensors();
  ASSERT_EQ(tensors.size(), 1U);
  EXPECT_THAT(tensors[0].shape, ElementsAre(4, 6));
  Ints expected(24);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_TRUE(std::ranges::equal(tensors[0].bytes, bytes_of(expected)));
}

TEST_F(SlicesTest, any_piece_can_be_read_whoever_wrote_it) {
  const auto checkpoint = write_and_open(kPieces);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_THAT(read(*checkpoint, {{1, 1}, {2, 3}}), ElementsAre(7, 8, 9, 13, 14, 15));
  EXPECT_THAT(read(*checkpoint, {{3, 5}, {1, 1}}), ElementsAre(23));
  EXPECT_THAT(read(*checkpoint, {{0, 0}, {4, 1}}), ElementsAre(0, 6, 12, 18));
  EXPECT_THAT(read(*checkpoint, {{2, 2}, {0, 2}}), ElementsAre());
}

TEST_F(SlicesTest, a_tensor_without_one_of_its_pieces_is_refused) {
  const auto checkpoint = write_and_open({kPieces[0], kPieces[2]});
  ASSERT_FALSE(checkpoint);
  EXPECT_EQ(checkpoint.error().kind, ErrorKind::Corrupt);
  EXPECT_THAT(checkpoint.error().message, HasSubstr("tensor 'weight' lacks pieces"));
}

TEST_F(SlicesTest, pieces_that_overlap_are_refused) {
  const Written over{{{1, 4}, {2, 2}}, {10, 11, 16, 17}};
  const auto checkpoint = write_and_open({kPieces[0], kPieces[1], over});
  ASSERT_FALSE(checkpoint);
  EXPECT_THAT(checkpoint.error().message, HasSubstr("tensor 'weight' is there twice"));
}

TEST_F(SlicesTest, a_piece_outside_its_tensor_is_refused) {
  const Written beyond{{{3, 0}, {2, 6}}, Ints(12)};
  const auto checkpoint = write_and_open({kPieces[0], kPieces[1], beyond});
  ASSERT_FALSE(checkpoint);
  EXPECT_THAT(checkpoint.error().message, HasSubstr("not inside it"));
}

}  // namespace
}  // namespace kedge::checkpoint
