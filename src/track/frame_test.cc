#include "track/frame.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/hash.h"
#include "core/result.h"
#include "core/scratch_folder.h"
#include "track/event_log.h"

namespace kedge::track {
namespace {

using testing::SizeIs;

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

// The record of docs/formats/klog.md.
const std::string kPayload = from_hex(
    "a564747970656773"
    "63616c61727363736571016474696d65"
    "1b00066049b945a63764737465700164"
    "626f6479a16a747261696e2f6c6f7373"
    "fb3fe0000000000000");
const std::string kFrame = from_hex("41000000071da4f6") + kPayload;

TEST(Frame, the_example_of_the_format_is_read) {
  const std::string frames = kFrame + kFrame;
  const auto payloads = split_frames(frames);
  ASSERT_TRUE(payloads) << payloads.error().message;
  ASSERT_THAT(*payloads, SizeIs(2));
  const auto record = parse_record(payloads->at(1));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->type, "scalars");
  EXPECT_EQ(record->seq, 1U);
  EXPECT_EQ(record->time_us, 0x00066049B945A637);
  EXPECT_EQ(record->step, 1);
  EXPECT_EQ(record->frame_bytes(), kFrame.size());
  std::vector<ScalarView> scalars;
  ASSERT_TRUE(parse_scalars(record->body, scalars));
  ASSERT_THAT(scalars, SizeIs(1));
  EXPECT_EQ(scalars[0].key, "train/loss");
  EXPECT_EQ(scalars[0].value, 0.5);
}

TEST(Frame, any_flipped_bit_and_any_cut_is_found) {
  for (std::size_t i = 0; i < kFrame.size() * 8; ++i) {
    std::string damaged = kFrame;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ (1 << (i % 8)));
    const auto payloads = split_frames(damaged);
    ASSERT_FALSE(payloads) << i;
    EXPECT_EQ(payloads.error().kind, ErrorKind::Corrupt);
  }
  for (std::size_t size = 1; size < kFrame.size(); ++size) {
    EXPECT_FALSE(split_frames(kFrame.substr(0, size)));
  }
  EXPECT_THAT(*split_frames(""), SizeIs(0));
}

TEST(Frame, payloads_cut_anywhere_are_no_records_and_read_nothing_beyond) {
  for (std::size_t size = 0; size < kPayload.size(); ++size) {
    const std::string cut = kPayload.substr(0, size);  // its own memory, for the sanitizers
    const auto record = parse_record(cut);
    std::vector<ScalarView> scalars;
    EXPECT_FALSE(record && parse_scalars(record->body, scalars)) << size;
  }
}

// RFC 8949, appendix A.
TEST(Scalars, numbers_of_every_width_are_read) {
  const std::vector<std::pair<std::string, double>> examples = {
      {"00", 0},
      {"17", 23},
      {"1818", 24},
      {"1903e8", 1000},
      {"1a000f4240", 1000000},
      {"1b000000e8d4a51000", 1000000000000},
      {"20", -1},
      {"3863", -100},
      {"f93e00", 1.5},
      {"f97bff", 65504},
      {"f90001", 5.960464477539063e-8},
      {"f9c400", -4.0},
      {"f97c00", std::numeric_limits<double>::infinity()},
      {"fa47c35000", 100000.0},
      {"faff800000", -std::numeric_limits<double>::infinity()},
      {"fb3ff199999999999a", 1.1},
      {"fb7e37e43c8800759c", 1.0e+300},
  };
  for (const auto& [hex, value] : examples) {
    std::vector<ScalarView> scalars;
    const std::string body = from_hex("a16161" + hex);
    ASSERT_TRUE(parse_scalars(body, scalars)) << hex;
    ASSERT_THAT(scalars, SizeIs(1)) << hex;
    EXPECT_EQ(scalars[0].value, value) << hex;
  }
  std::vector<ScalarView> scalars;
  const std::string nan = from_hex("a16161f97e00");
  ASSERT_TRUE(parse_scalars(nan, scalars));
  EXPECT_TRUE(std::isnan(scalars.at(0).value));
}

TEST(Scalars, what_is_no_number_is_left_out) {
  // {"a": 1, "bb": "text", "c": [1, 2], "d": true, "e": 2.0}
  const std::string body = from_hex("a5616101626262647465787461638201026164f56165f94000");
  std::vector<ScalarView> scalars;
  ASSERT_TRUE(parse_scalars(body, scalars));
  ASSERT_THAT(scalars, SizeIs(2));
  EXPECT_EQ(scalars[0].key, "a");
  EXPECT_EQ(scalars[1].key, "e");
  EXPECT_EQ(scalars[1].value, 2.0);
  const std::string list = from_hex("820102");
  EXPECT_FALSE(parse_scalars(list, scalars));
}

TEST(ChainDigest, goes_on_where_it_was_left) {
  ChainDigest whole;
  EXPECT_EQ(whole.text(), "0000000000000000");
  whole.add("one");
  // The rule, by hand: the first digest is that of eight zeros and the payload.
  EXPECT_EQ(whole.text(), fmt::format("{:016x}", xxh3_64(as_bytes(std::string(8, '\0') + "one"))));
  auto second = ChainDigest::parse(whole.text());
  ASSERT_TRUE(second);
  whole.add("two");
  second->add("two");
  EXPECT_EQ(second->text(), whole.text());
  EXPECT_FALSE(ChainDigest::parse("12"));
  EXPECT_FALSE(ChainDigest::parse("000000000000000g"));
}

TEST(Frame, frames_are_those_that_the_writer_wrote) {
  const ScratchFolder folder;
  const Path path = folder / "events-a1-r0.klog";
  auto writer = EventLogWriter::create(path, {"run", "a1-r0", 5});
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->append(kPayload));
  ASSERT_TRUE(writer->flush());
  const std::string file = *read_file(path);
  EXPECT_TRUE(file.ends_with(kFrame));
}

}  // namespace
}  // namespace kedge::track
