// The way into a group: all ranks meet at the address of rank 0. What commonly goes wrong there is
// found and explained: nobody listens, ranks that do not come, two processes with one rank.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "core/result.h"
#include "dist/process_group.h"
#include "ranks/rank_place.h"

namespace kedge::dist {

// What tensors travel over. Those on GPUs go over NCCL where it is chosen; the others, and notes,
// over Gloo always.
enum class Transport : std::uint8_t { Auto, Gloo, Nccl };

struct MeetingOptions {
  ranks::RankPlace place;
  std::string interface = {};  // empty: chosen, see network.h
  std::chrono::milliseconds init_timeout = std::chrono::minutes(2);
  std::chrono::milliseconds timeout = std::chrono::minutes(5);  // of one collective
  Transport transport = Transport::Auto;
  std::string why_no_gpu = "it trains on the CPU";  // empty: on the plugin's current device
};

// A number of a socket that listens already, which rank 0 inherits from its supervisor: nobody can
// take the port in between.
inline constexpr const char* kListenVariable = "KEDGE_LISTEN_FD";

// Every rank calls it once, with a place of its own and otherwise equal options, and returns when
// all have come, at the latest after init_timeout. Alone (a world of 1) it opens no socket. Rank 0
// holds the store that they meet in. Usage and Unavailable
// errors say which rank is missing or wrong, and why it may be; then no group is left.
Result<std::unique_ptr<ProcessGroup>> meet(const MeetingOptions& options);

}  // namespace kedge::dist
