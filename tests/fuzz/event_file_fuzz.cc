// EventFileReader, CsvReader and read_csv_curves on any bytes: 'f' first, an event file as it
// stands; 'c', a CSV table; anything else, events (parted by "\xFF\xFE") that get frames with right
// checksums.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/hash.h"
#include "core/result.h"
#include "exchange/curves.h"
#include "exchange/event_file.h"
#include "input_file.h"

namespace {

using namespace kedge;

std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(as_bytes(bytes));
  return ((crc >> 15U) | (crc << 17U)) + 0xA282EAD8U;
}

template <typename Number>
std::string fixed(Number number) {
  std::string bytes(sizeof(Number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(Number));
  return bytes;
}

std::string frame_parts(std::string_view input) {
  std::string file;
  while (!input.empty()) {
    const std::string_view part = input.substr(0, input.find("\xFF\xFE"));
    const std::string length = fixed(static_cast<std::uint64_t>(part.size()));
    file += length + fixed(masked_crc(length)) + std::string(part) + fixed(masked_crc(part));
    input.remove_prefix(std::min(input.size(), part.size() + 2));
  }
  return file;
}

void read_events(const std::string& file) {
  exchange::EventFileReader reader(file, "input");
  while (true) {
    const auto event = reader.next();
    if (!event || !*event) {
      return;
    }
    for (const exchange::EventValue& value : (*event)->values) {
      if (const auto* histogram = std::get_if<exchange::EventHistogram>(&value.content)) {
        KEDGE_CHECK(histogram->edges.empty()
                        ? histogram->counts.empty()
                        : histogram->edges.size() == histogram->counts.size() + 1,
                    "a histogram has one edge more");
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = as_text(data, size);
  if (input.starts_with('c')) {
    (void)exchange::read_csv_curves(input.substr(1));
  } else if (input.starts_with('f')) {
    read_events(std::string(input.substr(1)));
  } else {
    read_events(frame_parts(input.substr(input.empty() ? 0 : 1)));
  }
  return 0;
}
