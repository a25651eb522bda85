// The beginning of every record of an event log: docs/formats/klog.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "track/internal/cbor.h"

namespace kedge::track {

struct RecordHead {
  std::string_view type;
  std::uint64_t sequence = 0;
  std::int64_t time_us = 0;
  std::int64_t step = 0;
};

// {"type", "seq", "time", "step", "body"}, up to the body, which the caller appends.
inline void append_record_head(std::string& payload, const RecordHead& head) {
  append_cbor_map(payload, 5);
  append_cbor_text(payload, "type");
  append_cbor_text(payload, head.type);
  append_cbor_text(payload, "seq");
  append_cbor_integer(payload, static_cast<std::int64_t>(head.sequence));
  append_cbor_text(payload, "time");
  append_cbor_integer(payload, head.time_us);
  append_cbor_text(payload, "step");
  append_cbor_integer(payload, head.step);
  append_cbor_text(payload, "body");
}

}  // namespace kedge::track
