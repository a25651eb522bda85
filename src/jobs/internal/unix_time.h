// The time as the job book and the statuses of tasks write it.
#pragma once

#include <chrono>
#include <cstdint>

namespace kedge::jobs {

inline std::int64_t now_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace kedge::jobs
