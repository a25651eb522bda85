// Whether two machines reach each other over TCP, and how fast: one listens, the other tries.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "core/result.h"

namespace kedge::ranks {

struct NetReport {
  std::string own_address;  // of this end: tells which interface was used
  double round_trip_s = 0;  // median
  double bytes_per_s = 0;   // from here to there
};

struct NetCheckOptions {
  std::string host;
  int port = 0;
  std::chrono::milliseconds timeout = std::chrono::seconds(5);
  std::int64_t bytes = std::int64_t{64} << 20U;
};

Result<NetReport> check_net(const NetCheckOptions& options);

// Answers those who check, one after the other, until should_stop(); tells of each with its
// address.
Result<void> answer_net_checks(int port, const std::function<bool()>& should_stop,
                               const std::function<void(const std::string& who)>& on_check);

}  // namespace kedge::ranks
