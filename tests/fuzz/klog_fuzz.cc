// EventLogReader on any bytes. The first byte of the input says how the rest becomes a file:
// 'f', as it is; otherwise a good header and one record with a right checksum per part (parts are
// parted by "\xFF\xFE"), because no mutation finds a checksum.
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "input_file.h"
#include "track/event_log.h"

namespace {

using namespace kedge;

void append_u32(std::string& out, std::uint32_t value) {
  for (unsigned i = 0; i < 4; ++i) {
    out += static_cast<char>((value >> (8 * i)) & 0xFFU);
  }
}

// docs/formats/klog.md: length u32 | crc32c of length and payload u32 | payload
void append_frame(std::string& out, std::string_view payload) {
  std::string framed;
  append_u32(framed, static_cast<std::uint32_t>(payload.size()));
  const std::string length = framed;
  append_u32(framed, crc32c(as_bytes(payload), crc32c(as_bytes(length))));
  out += framed;
  out += payload;
}

std::string frame_parts(std::string_view input) {
  std::string file = "KEDGELOG";
  append_u32(file, 1);
  append_frame(file, std::string_view("\xA3\x63run\x61r\x66writer\x61w\x67"
                                      "created\x01",
                                      24));
  while (!input.empty()) {
    const std::string_view part = input.substr(0, input.find("\xFF\xFE"));
    append_frame(file, part);
    input.remove_prefix(std::min(input.size(), part.size() + 2));
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static InputFile file;
  if (size == 0) {
    return 0;
  }
  const std::string_view input = as_text(data + 1, size - 1);
  file.fill(data[0] == 'f' ? std::string(input) : frame_parts(input));
  auto reader = track::EventLogReader::open(file.path());
  if (!reader) {
    return 0;
  }
  std::uint64_t before = reader->offset();
  while (true) {
    const auto record = reader->next();
    if (!record || !*record) {
      return 0;
    }
    (*record)->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    KEDGE_CHECK(reader->offset() > before, "every record takes room");
    before = reader->offset();
  }
}
