// Frames of event logs for tests, written by hand from docs/formats/klog.md.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/hash.h"

namespace kedge::store {

inline std::string cbor(const nlohmann::json& json) {
  const std::vector<std::uint8_t> bytes = nlohmann::json::to_cbor(json);
  return {bytes.begin(), bytes.end()};
}

struct TestRecord {
  std::string type;
  std::uint64_t seq = 0;
  std::int64_t time_us = 0;
  std::int64_t step = 0;
  nlohmann::json body;
};

inline std::string make_payload(const TestRecord& record) {
  return "\xA5" + cbor("type") + cbor(record.type) + cbor("seq") + cbor(record.seq) + cbor("time") +
         cbor(record.time_us) + cbor("step") + cbor(record.step) + cbor("body") + cbor(record.body);
}

inline std::string make_frame(std::string_view payload) {
  const auto length = static_cast<std::uint32_t>(payload.size());
  std::string frame(8, '\0');
  std::memcpy(frame.data(), &length, 4);
  const std::uint32_t sum =
      crc32c(as_bytes(payload), crc32c(as_bytes(std::string_view(frame).substr(0, 4))));
  std::memcpy(frame.data() + 4, &sum, 4);
  return frame.append(payload);
}

inline std::string make_frame(const TestRecord& record) {
  return make_frame(make_payload(record));
}

// The frames of a log on the disk: what follows its header.
inline std::string frames_of(std::string_view file) {
  std::uint32_t header = 0;
  std::memcpy(&header, file.data() + 12, sizeof header);
  return std::string(file.substr(12 + 8 + header));
}

}  // namespace kedge::store
