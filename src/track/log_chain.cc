#include "track/log_chain.h"

#include <string_view>

#include "track/event_log.h"

namespace kedge::track {

void LogPosition::pass(std::string_view frame) {
  chain.add(frame.substr(kFrameHeadBytes));
  ++next_seq;
  offset += frame.size();
}

}  // namespace kedge::track
