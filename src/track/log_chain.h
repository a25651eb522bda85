// What two holders of an event log compare to prove that they have the same: how many records, and
// a chain of hashes over their payloads. docs/formats/klog.md is the definition.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "track/frame.h"

namespace kedge::track {

struct LogPosition {
  std::uint64_t next_seq = 0;  // how many records
  std::uint64_t offset = 0;    // bytes of their frames, from the one behind the file's header
  ChainDigest chain;

  bool operator==(const LogPosition&) const = default;

  // Goes past one more record, given as it stands in the file.
  void pass(std::string_view frame);

  std::string digest() const { return chain.text(); }
};

}  // namespace kedge::track
