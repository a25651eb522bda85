// Which network interface the ranks talk over: the fastest one whose network all of them are in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"

namespace kedge::dist {

struct Link {
  std::string name;     // "eth0"
  std::string address;  // IPv4
  std::uint32_t network = 0;
  int prefix = 0;           // bits of the network part
  std::int64_t speed = -1;  // Mbit/s; -1: the driver does not say
};

// The interfaces of this machine that are up and have an IPv4 address, loopback last. Asks the
// kernel each time; empty where it cannot be asked.
std::vector<Link> list_links();

// The address of this machine on the way to `host`; nothing when there is no way.
std::optional<std::string> address_towards(const std::string& host);

// What one rank tells the others about itself.
struct RankLinks {
  std::string host;
  std::string towards;  // its address on the way to rank 0
  std::vector<Link> links;
};

// One line of text, as the ranks exchange it. Text of another kind is Corrupt.
std::string render(const RankLinks& links);
Result<RankLinks> parse_rank_links(const std::string& text);

// The address that rank `rank` should use: in the network with the fastest slowest link that every
// rank is in; of equal ones, that on the way to rank 0. Loopback when all are on one machine.
// Nothing where no network has all of them. A pure function: every rank finds the same network.
std::optional<std::string> choose_address(std::span<const RankLinks> ranks, std::size_t rank);

}  // namespace kedge::dist
