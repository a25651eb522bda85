// The way into a group: all ranks meet at the address of rank 0. What commonly goes wrong there is
// found and explained: nobody listens, ranks that do not come, two processes with one rank.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "core/result.h"
#include "dist/process_group.h"
#include "launch/rank_place.h"

namespace kedge::dist {

struct MeetingOptions {
  launch::RankPlace place;
  std::string interface = {};  // empty: chosen, see network.h
  std::chrono::milliseconds init_timeout = std::chrono::minutes(2);
  std::chrono::milliseconds timeout = std::chrono::minutes(5);  // of one exchange
};

// A number of a socket that listens already, which rank 0 inherits from its supervisor: nobody can
// take the port in between.
inline constexpr const char* kListenVariable = "KEDGE_LISTEN_FD";

// Over Gloo. Usage and Unavailable errors say which rank is missing or wrong, and why it may be.
Result<std::unique_ptr<ProcessGroup>> meet(const MeetingOptions& options);

}  // namespace kedge::dist
