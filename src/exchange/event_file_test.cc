#include "exchange/event_file.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/scratch_folder.h"
#include "exchange/internal/tensor_proto.h"

namespace kedge::exchange {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t kTime = 1'794'719'617'250'000;

struct Reading {
  std::vector<Event> events;
  std::map<std::string, std::uint64_t> skipped;
  std::string error;
};

Reading read(EventFileReader reader) {
  Reading reading;
  while (true) {
    auto event = reader.next();
    if (!event || !*event) {
      reading.error = event ? "" : event.error().message;
      reading.skipped = reader.skipped();
      return reading;
    }
    reading.events.push_back(**std::move(event));
  }
}

Reading read_fixture(const std::string& name) {
  auto reader = EventFileReader::open(Path(KEDGE_FIXTURES) / "exchange" / name);
  EXPECT_TRUE(reader) << reader.error().message;
  return read(*std::move(reader));
}

template <typename Content>
const Content& content(const Event& event) {
  return std::get<Content>(event.values.at(0).content);
}

// Written by tensorboardX, which writes as torch.utils.tensorboard does: tools/golden/exchange.py.
TEST(event_file, what_pytorch_writes_is_read) {
  const Reading reading = read_fixture("legacy.tfevents");
  EXPECT_EQ(reading.error, "");
  ASSERT_EQ(reading.events.size(), 6U);
  EXPECT_EQ(reading.events[0].step, 7);
  EXPECT_EQ(reading.events[0].time_us, kTime);
  EXPECT_EQ(reading.events[0].values[0].tag, "train/loss");
  EXPECT_EQ(content<double>(reading.events[0]), 0.125);
  EXPECT_TRUE(std::isnan(content<double>(reading.events[1])));
  EXPECT_EQ(reading.events[2].step, 1LL << 40U);
  EXPECT_EQ(content<double>(reading.events[2]), std::numeric_limits<double>::infinity());
  const auto& histogram = content<EventHistogram>(reading.events[3]);
  EXPECT_THAT(histogram.edges, ElementsAre(-2, 0, 2, 3));  // 3 is the greatest value
  EXPECT_THAT(histogram.counts, ElementsAre(1, 2, 1));
  const auto& images = content<EventImages>(reading.events[4]);
  EXPECT_EQ(images.width, 2);
  EXPECT_EQ(images.height, 1);
  ASSERT_EQ(images.encoded.size(), 1U);
  EXPECT_THAT(images.encoded[0], StartsWith("\x89PNG"));
  EXPECT_EQ(content<EventText>(reading.events[5]).text, "some text");
}

// Written by tensorboard's own functions.
TEST(event_file, what_tensorflow_2_writes_is_read) {
  const Reading reading = read_fixture("modern.tfevents");
  EXPECT_EQ(reading.error, "");
  ASSERT_EQ(reading.events.size(), 5U);
  EXPECT_EQ(content<double>(reading.events[0]), 0.5);
  EXPECT_EQ(content<double>(reading.events[1]), 0.25);  // its kind is that of the tag's first value
  EXPECT_EQ(reading.events[1].time_us, kTime + 1'000'000);
  const auto& histogram = content<EventHistogram>(reading.events[2]);
  EXPECT_THAT(histogram.edges, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(histogram.counts, ElementsAre(1, 2, 0, 1));
  EXPECT_EQ(content<EventText>(reading.events[3]).text, "hello *there*");
  const auto& images = content<EventImages>(reading.events[4]);
  EXPECT_EQ(images.width, 2);
  EXPECT_EQ(images.encoded.size(), 2U);
  EXPECT_THAT(reading.skipped, ElementsAre(testing::Pair("hparams", 1)));
}

TEST(event_file, a_torn_end_is_the_end_and_damage_is_corrupt) {
  const std::string whole =
      read_file(Path(KEDGE_FIXTURES) / "exchange" / "legacy.tfevents").value();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const Reading reading = read(EventFileReader(std::string_view(whole).substr(0, length), "x"));
    EXPECT_EQ(reading.error, "") << length;
    EXPECT_LT(reading.events.size(), 6U);
  }
  std::string damaged = whole;
  damaged[whole.size() / 2] = static_cast<char>(damaged[whole.size() / 2] ^ 1);
  EXPECT_THAT(read(EventFileReader(damaged, "x")).error, HasSubstr("x: a record whose checksum"));
  EXPECT_THAT(read(EventFileReader("this is no event file", "x")).error,
              HasSubstr("x: no TensorBoard record at byte 0"));
}

// The CRC of RFC 3720's 32 zero bytes is 0x8a9136aa; masked by hand: rotated right by 15 it is
// 0x6d551522, plus 0xa282ead8 is 0x0fd7fffa. That of the length is from tensorboard.
TEST(event_file, frames_have_masked_checksums) {
  const std::string frame =
      std::string("\x20\0\0\0\0\0\0\0\x29\xed\xa9\x50", 12) + std::string(32, '\0');
  EXPECT_EQ(read(EventFileReader(frame + "\xfa\xff\xd7\x0f", "x")).error, "");
  EXPECT_THAT(read(EventFileReader(frame + "\xfb\xff\xd7\x0f", "x")).error,
              HasSubstr("checksum is wrong at byte 0"));
}

TEST(event_file, what_is_written_is_read) {
  const ScratchFolder folder;
  auto writer = EventFileWriter::create(folder / "logs", kTime);
  ASSERT_TRUE(writer) << writer.error().message;
  EXPECT_EQ(writer->path().filename(), "events.out.tfevents.1794719617.kedge");
  EXPECT_TRUE(is_event_file(writer->path()));
  const std::string png = read_file(Path(KEDGE_FIXTURES) / "data" / "grey.png").value();
  ASSERT_TRUE(
      writer->add({kTime, -1, {{"a", 0.5}, {"b", -std::numeric_limits<double>::infinity()}}}));
  ASSERT_TRUE(writer->add({kTime, 2, {{"h", EventHistogram{{-1, 0, 2.5}, {3, 4}}}}}));
  ASSERT_TRUE(writer->add({kTime, 3, {{"i", EventImages{4, 5, {png}}}, {"t", EventText{"hi"}}}}));
  ASSERT_TRUE(writer->finish());

  const Reading reading = read(*EventFileReader::open(writer->path()));
  EXPECT_EQ(reading.error, "");
  ASSERT_EQ(reading.events.size(), 3U);
  EXPECT_EQ(reading.events[0].step, -1);
  EXPECT_EQ(reading.events[0].time_us, kTime);
  EXPECT_EQ(content<double>(reading.events[0]), 0.5);
  EXPECT_THAT(content<EventHistogram>(reading.events[1]).edges, ElementsAre(-1, 0, 2.5));
  EXPECT_THAT(content<EventHistogram>(reading.events[1]).counts, ElementsAre(3, 4));
  EXPECT_EQ(content<EventImages>(reading.events[2]).encoded[0], png);
  EXPECT_EQ(std::get<EventText>(reading.events[2].values[1].content).text, "hi");
}

std::vector<double> tensor_numbers(std::string_view message) {
  const auto tensor = parse_tensor(message);
  EXPECT_TRUE(tensor);
  return tensor ? tensor->numbers : std::vector<double>();
}

// Messages by hand: field << 3 | wire type, then the value.
TEST(tensor, every_numeric_type_is_a_number) {
  using namespace std::string_literals;
  EXPECT_THAT(tensor_numbers("\x08\x01\x2d\x00\x00\x80\x3f"s), ElementsAre(1));       // float
  EXPECT_THAT(tensor_numbers("\x08\x01\x2a\x04\x00\x00\x00\xc0"s), ElementsAre(-2));  // packed
  EXPECT_THAT(tensor_numbers("\x08\x09\x50\x7f"s), ElementsAre(127));                 // int64
  EXPECT_THAT(tensor_numbers("\x08\x13\x68\x80\x78"s), ElementsAre(0.5 * 2));         // half 3c00
  EXPECT_THAT(tensor_numbers("\x08\x0e\x68\x80\x7f"s), ElementsAre(1));               // bfloat 3f80
  EXPECT_THAT(tensor_numbers("\x08\x13\x22\x02\x01\x00"s), ElementsAre(std::ldexp(1, -24)));
  EXPECT_THAT(tensor_numbers("\x08\x02\x12\x00"s), ElementsAre(0));  // left out
  EXPECT_THAT(tensor_numbers("\x08\x01\x12\x04\x12\x02\x08\x02\x2d\x00\x00\x80\x3f"s),
              ElementsAre(1, 1));  // one for all
}

TEST(tensor, shapes_that_ask_for_too_much_are_refused) {
  using namespace std::string_literals;
  EXPECT_FALSE(parse_tensor("\x08\x01\x12\x0a\x12\x08\x08\xff\xff\xff\xff\xff\xff\x0f"s));
  EXPECT_FALSE(parse_tensor("\x08\x07\x12\x04\x12\x02\x08\x02\x42\x01x"s));  // two texts, one there
  EXPECT_FALSE(parse_tensor("\x08"));
  EXPECT_FALSE(parse_tensor(""));
}

}  // namespace
}  // namespace kedge::exchange
