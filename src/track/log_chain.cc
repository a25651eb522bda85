#include "track/log_chain.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/hash.h"
#include "track/event_log.h"

namespace kedge::track {

void LogPosition::pass(std::string_view frame) {
  std::string text;
  text.reserve(sizeof chain + frame.size() - kFrameHeadBytes);
  for (unsigned i = 0; i < sizeof chain; ++i) {
    text += static_cast<char>((chain >> (8 * i)) & 0xFFU);
  }
  text += frame.substr(kFrameHeadBytes);
  chain = xxh3_64(as_bytes(text));
  ++next_seq;
  offset += frame.size();
}

std::string LogPosition::digest() const {
  return fmt::format("{:016x}", chain);
}

}  // namespace kedge::track
