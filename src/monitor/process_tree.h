// What a process and all it has started use together, read from /proc.
#pragma once

#include <cstdint>
#include <optional>

#include "core/file.h"

namespace kedge::monitor {

struct ProcessTree {
  // CPU time in clock ticks, of children that ended and were waited for too, so that it seldom
  // falls. A process whose parent ended belongs to the tree no more.
  double ticks = 0;
  std::uint64_t memory = 0;         // bytes; pages that several share are counted for each
  std::optional<double> disk_read;  // bytes; empty where nobody may look
  std::optional<double> disk_write;
  std::int64_t process_count = 0;
};

// Nothing when there is no such process.
std::optional<ProcessTree> read_process_tree(const Path& proc, std::int64_t root_pid);

}  // namespace kedge::monitor
