// decode_chunk and decode_sketch on any bytes. 'c' and 's' first: the rest gets the right checksum
// (which no mutation finds) and is a chunk or a sketch; 'p': the rest are points, which must come
// back as they were; anything else: the input is both as it stands.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/hash.h"
#include "core/result.h"
#include "input_file.h"
#include "store/chunk.h"

namespace {

using namespace kedge;
using namespace kedge::store;

std::string with_checksum(std::string_view bytes) {
  const auto sum = static_cast<std::uint32_t>(xxh3_64(as_bytes(bytes)));
  return std::string(bytes) + std::string(reinterpret_cast<const char*>(&sum), sizeof(sum));
}

bool is_same(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

void check_round_trip(const Points& points) {
  const auto back = decode_chunk(encode_chunk(points));
  KEDGE_CHECK(back.has_value(), "what was encoded decodes");
  KEDGE_CHECK(back->steps == points.steps && back->times_us == points.times_us &&
                  is_same(back->values, points.values),
              "to the same points");
  if (!points.empty()) {
    const ChunkSketch sketch = sketch_of(points);
    const auto again = decode_sketch(encode_sketch(sketch));
    KEDGE_CHECK(again && *again == sketch, "and so does the sketch");
  }
}

Points points_in(std::string_view bytes) {
  Points points;
  while (bytes.size() >= sizeof(Point)) {
    Point point;
    std::memcpy(&point, bytes.data(), sizeof(point));
    points.add(point);
    bytes.remove_prefix(sizeof(point));
  }
  return points;
}

// A sketch carries its points as a chunk: five bytes are its own head, the rest is summed.
std::string as_sketch(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, 5);
  return std::string(head) + with_checksum(bytes.substr(head.size()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = as_text(data, size);
  const char mode = input.empty() ? ' ' : input[0];
  if (mode == 'p') {
    check_round_trip(points_in(input.substr(1)));
  } else if (mode == 'c') {
    const std::string bytes = with_checksum(input.substr(1));
    (void)decode_chunk(bytes, ChunkColumns::StepsAndValues);
    (void)decode_chunk(bytes, ChunkColumns::TimesAndValues);
    if (const auto points = decode_chunk(bytes)) {
      check_round_trip(*points);
    }
  } else if (mode == 's') {
    (void)decode_sketch(as_sketch(input.substr(1)));
  } else {
    (void)decode_chunk(input);
    (void)decode_sketch(input);
  }
  return 0;
}
