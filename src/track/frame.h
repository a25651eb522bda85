// The frames of an event log apart from its file, for those who take logs over a network: checked
// and split without a copy, and scalars read without building JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"

namespace kedge::track {

// One record as it stands in a frame; the views are into the frame.
struct RecordView {
  std::string_view payload;
  std::string_view type;
  std::uint64_t seq = 0;
  std::int64_t time_us = 0;
  std::int64_t step = 0;
  std::string_view body;  // CBOR

  // With its length and sum, as it stands in a file.
  std::size_t frame_bytes() const { return 8 + payload.size(); }
};

// Splits whole frames into their payloads. Corrupt when a frame is damaged or cut short, with its
// offset.
Result<std::vector<std::string_view>> split_frames(std::string_view bytes);

// Nothing when the payload is not a record whose keys are in the order of docs/formats/klog.md.
std::optional<RecordView> parse_record(std::string_view payload);

struct ScalarView {
  std::string_view key;
  double value = 0;
};

// The numbers of a `scalars` or `system` body, appended to `scalars`; what is no number is left
// out. False when the body is not a CBOR map with text keys.
bool parse_scalars(std::string_view body, std::vector<ScalarView>& scalars);

// Any body. Nothing when it is not CBOR of at most 32 levels.
std::optional<nlohmann::json> parse_body(std::string_view body);

// Digest chain over the payloads of a log: d[0] = 0, d[n+1] = xxh3_64(d[n] as 8 little-endian
// bytes, payload n). Two sides that have the same digest after n records have the same records.
class ChainDigest {
 public:
  ChainDigest() = default;

  // From text(). Nothing when it is something else.
  static std::optional<ChainDigest> parse(std::string_view text);

  void add(std::string_view payload);

  std::string text() const;  // 16 hex digits

  bool operator==(const ChainDigest& other) const { return value_ == other.value_; }

 private:
  std::uint64_t value_ = 0;
  std::string buffer_;
};

}  // namespace kedge::track
