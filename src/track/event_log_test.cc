#include "track/event_log.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/result.h"
#include "core/scratch_folder.h"
#include "core/small_disk.h"
#include "track/internal/cbor.h"

namespace kedge::track {
namespace {

using testing::HasSubstr;

std::string payload(int number) {
  const auto bytes = nlohmann::json::to_cbor({{"type", "scalars"}, {"seq", number}});
  return {bytes.begin(), bytes.end()};
}

class EventLogTest : public testing::Test {
 protected:
  EventLogWriter make() {
    auto writer =
        EventLogWriter::create(path_, {.run = "r", .writer = "a1-r0", .created_us = 1234567});
    KEDGE_CHECK(writer.has_value(), "a test's log can be made");
    return std::move(*writer);
  }

  void put(const std::string& content) { std::ofstream(path_, std::ios::binary) << content; }

  // How many records are read before the end; -1 when the log is Corrupt.
  int count() {
    auto reader = EventLogReader::open(path_);
    if (!reader) {
      return -1;
    }
    for (int records = 0;; ++records) {
      const auto record = reader->next();
      if (!record) {
        return -1;
      }
      if (!*record) {
        return records;
      }
      EXPECT_EQ((**record)["seq"], records);
    }
  }

  ScratchFolder folder_;
  Path path_ = folder_ / "events-a1-r0.klog";
};

TEST_F(EventLogTest, records_come_back_in_order) {
  EventLogWriter writer = make();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(writer.append(payload(i)));
  }
  ASSERT_TRUE(writer.sync());
  EXPECT_EQ(count(), 100);
  const auto reader = EventLogReader::open(path_);
  EXPECT_EQ(reader->header().run, "r");
  EXPECT_EQ(reader->header().writer, "a1-r0");
  EXPECT_EQ(reader->header().created_us, 1234567);
}

TEST_F(EventLogTest, frames_are_the_bytes_in_the_file_and_can_be_gone_to) {
  EventLogWriter writer = make();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(writer.append(payload(i)));
  }
  ASSERT_TRUE(writer.flush());
  const std::string whole = *read_file(path_);
  auto reader = EventLogReader::open(path_);
  std::string joined = whole.substr(0, reader->first_offset());
  std::uint64_t second = 0;
  for (auto frame = reader->next_frame(); *frame; frame = reader->next_frame()) {
    EXPECT_EQ((*frame)->substr(kFrameHeadBytes).size(), payload(0).size());
    joined += **frame;
    second = second == 0 ? reader->offset() : second;
  }
  EXPECT_EQ(joined, whole);
  reader->seek(second);
  EXPECT_EQ((**reader->next())["seq"], 1);
}

TEST_F(EventLogTest, any_cut_gives_the_whole_records_before_it) {
  EventLogWriter writer = make();
  const std::uint64_t header = std::filesystem::file_size(path_);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(writer.append(payload(i)));
  }
  ASSERT_TRUE(writer.flush());
  const std::string whole = *read_file(path_);
  const std::uint64_t record = (whole.size() - header) / 5;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    put(whole.substr(0, size));
    EXPECT_EQ(count(), size < header ? -1 : static_cast<int>((size - header) / record)) << size;
  }
}

TEST_F(EventLogTest, a_tail_of_zeros_is_a_torn_tail) {
  EventLogWriter writer = make();
  ASSERT_TRUE(writer.append(payload(0)));
  ASSERT_TRUE(writer.flush());
  put(*read_file(path_) + std::string(4096, '\0'));
  EXPECT_EQ(count(), 1);
}

TEST_F(EventLogTest, a_flipped_bit_before_the_last_record_is_corrupt) {
  EventLogWriter writer = make();
  const std::uint64_t header = std::filesystem::file_size(path_);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(writer.append(payload(i)));
  }
  ASSERT_TRUE(writer.flush());
  const std::string whole = *read_file(path_);
  const std::uint64_t record = (whole.size() - header) / 4;
  for (std::size_t at = 0; at < whole.size() * 8; ++at) {
    std::string broken = whole;
    broken[at / 8] = static_cast<char>(broken[at / 8] ^ (1 << (at % 8)));
    put(broken);
    EXPECT_EQ(count(), at / 8 < whole.size() - record ? -1 : 3) << at;
  }
}

TEST_F(EventLogTest, a_reader_follows_a_growing_file) {
  EventLogWriter writer = make();
  auto reader = EventLogReader::open(path_);
  ASSERT_TRUE(reader);
  EXPECT_FALSE(reader->next()->has_value());
  ASSERT_TRUE(writer.append(payload(0)));
  ASSERT_TRUE(writer.flush());
  EXPECT_EQ((*reader->next()).value()["seq"], 0);
  EXPECT_FALSE(reader->next()->has_value());

  // A record that is only half there yet.
  ASSERT_TRUE(writer.append(payload(1)));
  ASSERT_TRUE(writer.flush());
  const std::string whole = *read_file(path_);
  put(whole.substr(0, whole.size() - 3));
  EXPECT_FALSE(reader->next()->has_value());
  put(whole);
  EXPECT_EQ((*reader->next()).value()["seq"], 1);
}

TEST_F(EventLogTest, bytes_a_full_disk_refused_are_written_when_there_is_space) {
  const SmallDisk disk(16);
  if (!disk.is_mounted()) {
    GTEST_SKIP() << "mounting a tmpfs needs root";
  }
  path_ = disk.path() / "x.klog";
  EventLogWriter writer = make();
  std::ofstream(disk.path() / "filler") << std::string(8 << 10, 'x');
  int sequence = 0;
  while (writer.flush()) {
    ASSERT_TRUE(writer.append(payload(sequence++)));
  }
  EXPECT_GE(count(), 0);  // a torn tail, not damage
  std::filesystem::remove(disk.path() / "filler");
  ASSERT_TRUE(writer.append(payload(sequence++)));
  ASSERT_TRUE(writer.flush());
  EXPECT_EQ(count(), sequence);
}

TEST_F(EventLogTest, another_file_and_another_version_are_refused) {
  put("PK\3\4 something else altogether, long enough for a header");
  EXPECT_THAT(EventLogReader::open(path_).error().message, HasSubstr("not an event log"));
  EXPECT_EQ(EventLogReader::open(folder_ / "none").error().kind, ErrorKind::NotFound);
  std::filesystem::remove(path_);
  make();
  std::string bytes = *read_file(path_);
  bytes[8] = 2;
  put(bytes);
  EXPECT_THAT(EventLogReader::open(path_).error().message, HasSubstr("its version is 2"));
}

TEST(Cbor, hand_written_values_read_back_through_another_reader) {
  std::string bytes;
  append_cbor_map(bytes, 3);
  append_cbor_text(bytes, std::string(300, 'k'));
  append_cbor_integer(bytes, std::numeric_limits<std::int64_t>::min());
  append_cbor_text(bytes, "nan");
  append_cbor_double(bytes, std::numeric_limits<double>::quiet_NaN());
  append_cbor_text(bytes, "n");
  append_cbor_integer(bytes, 70000);
  const auto json = nlohmann::json::from_cbor(bytes);
  EXPECT_EQ(json[std::string(300, 'k')], std::numeric_limits<std::int64_t>::min());
  EXPECT_NE(json["nan"].get<double>(), json["nan"].get<double>());
  EXPECT_EQ(json["n"], 70000);
}

// RFC 8949, appendix A.
TEST(Cbor, numbers_have_the_bytes_of_the_standard) {
  std::string bytes;
  append_cbor_integer(bytes, 1000000);
  append_cbor_integer(bytes, -1000);
  append_cbor_double(bytes, 1.1);
  EXPECT_EQ(bytes, std::string(
                       "\x1a\x00\x0f\x42\x40\x39\x03\xe7\xfb\x3f\xf1\x99\x99\x99\x99\x99\x9a", 17));
}

TEST(Cbor, deep_and_boundless_values_are_refused) {
  EXPECT_FALSE(parse_cbor(std::vector<std::uint8_t>(10'000'000, 0x81)));
  const std::vector<std::uint8_t> huge = {0x9B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE, 1};
  EXPECT_FALSE(parse_cbor(huge));
  EXPECT_FALSE(parse_cbor(std::vector<std::uint8_t>{1, 1}));
}

TEST_F(EventLogTest, strings_in_chunks_inside_chunks_are_not_cbor) {
  const auto parse = [](const std::string& bytes) {
    return parse_cbor({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  };
  // RFC 8949, appendix A: (_ "strea", "ming").
  EXPECT_EQ(parse("\x7F\x65strea\x64ming\xFF"), "streaming");
  EXPECT_EQ(parse("\x82\x7F\x61"
                  "a\xFF\x7F\xFF"),
            nlohmann::json({"a", ""}));
  EXPECT_EQ(parse(std::string("\x78\x03\x7F\x7F\x7F", 5)), "\x7F\x7F\x7F");
  EXPECT_FALSE(
      parse("\x7F\x7F\x61"
            "a\xFF\xFF"));
  // Each of these would be one more call on the stack.
  EXPECT_FALSE(parse(std::string(4'000'000, '\x7F')));
  EXPECT_FALSE(parse(std::string(4'000'000, '\x5F')));
  EXPECT_FALSE(parse(std::string(4'000'000, '\x9F')));
}

}  // namespace
}  // namespace kedge::track
