// How busy this machine and this process are, read from /proc and the control group.
#pragma once

#include <cstdint>
#include <optional>

#include "core/file.h"

namespace kedge::monitor {

// Rates are since the sample before, so the first has none. What the system does not tell is empty.
struct HostSample {
  std::optional<double> cpu_percent;          // of all cores: 0 to 100
  std::optional<double> process_cpu_percent;  // 100: one core
  std::optional<double> load;                 // mean of the last minute
  std::optional<std::uint64_t> memory_used;   // bytes, as is all below
  std::optional<std::uint64_t> memory_total;
  std::optional<std::uint64_t> process_memory;  // resident
  std::optional<std::uint64_t> limit_used;      // of the control group, where it has a limit
  std::optional<std::uint64_t> limit;
  std::optional<double> disk_read_per_s;  // by this process
  std::optional<double> disk_write_per_s;
  std::optional<double> network_in_per_s;  // by all, without the loopback
  std::optional<double> network_out_per_s;
};

class HostSampler {
 public:
  // With a `tree_root`, what is said of "this process" is of that one and all it has started.
  explicit HostSampler(Path proc = "/proc", Path cgroup = "/sys/fs/cgroup",
                       std::optional<std::int64_t> tree_root = {});

  HostSample sample();

  // The same with a clock of the caller's, in seconds.
  HostSample sample_at(double now_s);

 private:
  struct Counters {
    double now_s = 0;
    std::optional<double> cpu_busy;  // ticks
    std::optional<double> cpu_all;
    std::optional<double> process_ticks;
    std::optional<std::uint64_t> process_memory;
    std::optional<double> disk_read;
    std::optional<double> disk_write;
    std::optional<double> network_in;
    std::optional<double> network_out;
  };

  Counters read_counters(double now_s) const;
  void read_memory(HostSample& sample) const;
  void read_limit(HostSample& sample) const;

  Path proc_;
  Path cgroup_;
  std::optional<std::int64_t> tree_root_;
  std::optional<Counters> before_;
};

}  // namespace kedge::monitor
