#include "monitor/host_sampler.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <unistd.h>

#include "core/file.h"
#include "monitor/internal/proc_text.h"
#include "monitor/process_tree.h"

namespace kedge::monitor {
namespace {

std::optional<double> to_double(std::optional<std::uint64_t> value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

// user nice system idle iowait irq softirq steal; guests are in user already. Idle and iowait are
// not busy.
std::pair<std::optional<double>, std::optional<double>> parse_cpu(std::string_view stat) {
  constexpr std::size_t kFields = 8;
  const auto words = split(stat.substr(0, stat.find('\n')), " ");
  if (words.size() < 1 + kFields || words[0] != "cpu") {
    return {};
  }
  double all = 0;
  double idle = 0;
  for (std::size_t i = 0; i < kFields; ++i) {
    const double ticks = parse<double>(words[i + 1]).value_or(0);
    all += ticks;
    idle += i == 3 || i == 4 ? ticks : 0;
  }
  return {all - idle, all};
}

// utime and stime are fields 14 and 15 of /proc/self/stat. Field 2, the program's name in
// parentheses, may hold spaces.
std::optional<double> parse_process_ticks(std::string_view stat) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) {
    return std::nullopt;
  }
  const auto words = split(stat.substr(name_end + 1), " \n");
  if (words.size() < 13) {
    return std::nullopt;
  }
  return parse<double>(words[11]).value_or(0) + parse<double>(words[12]).value_or(0);
}

// "eth0: rx_bytes packets errs drop fifo frame compressed multicast tx_bytes ...".
std::pair<std::optional<double>, std::optional<double>> parse_network(std::string_view text) {
  std::optional<double> in;
  std::optional<double> out;
  for (const std::string_view line : split(text, "\n")) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      continue;
    }
    const auto name = split(line.substr(0, colon), " ");
    const auto words = split(line.substr(colon + 1), " ");
    if (name.size() == 1 && name[0] != "lo" && words.size() > 8) {
      in = in.value_or(0) + parse<double>(words[0]).value_or(0);
      out = out.value_or(0) + parse<double>(words[8]).value_or(0);
    }
  }
  return {in, out};
}

// Counters that went backwards (an interface removed, say) give no rate.
std::optional<double> rate(std::optional<double> before, std::optional<double> now, double per) {
  if (!before || !now || *now < *before || per <= 0) {
    return std::nullopt;
  }
  return (*now - *before) / per;
}

std::optional<double> percent(std::optional<double> ratio) {
  return ratio ? std::optional(*ratio * 100) : std::nullopt;
}

struct Limit {
  std::uint64_t limit = 0;
  std::uint64_t used = 0;
};

// The tightest limit from the group's folder up to the root.
std::optional<Limit> find_limit(const Path& root, const Path& group, const char* limit_file,
                                const char* used_file) {
  // Without a limit, version 1 says the largest multiple of a page.
  constexpr std::uint64_t kNone = std::uint64_t{1} << 60U;
  std::optional<Limit> tightest;
  for (Path folder = group.relative_path();; folder = folder.parent_path()) {
    const auto limit = parse<std::uint64_t>(text_of(root / folder / limit_file));
    const auto used = parse<std::uint64_t>(text_of(root / folder / used_file));
    if (limit && used && *limit < kNone && (!tightest || *limit < tightest->limit)) {
      tightest = Limit{*limit, *used};
    }
    if (folder.empty()) {
      return tightest;
    }
  }
}

}  // namespace

HostSampler::HostSampler(Path proc, Path cgroup, std::optional<std::int64_t> tree_root)
    : proc_(std::move(proc)), cgroup_(std::move(cgroup)), tree_root_(tree_root) {}

HostSampler::Counters HostSampler::read_counters(double now_s) const {
  Counters now;
  now.now_s = now_s;
  std::tie(now.cpu_busy, now.cpu_all) = parse_cpu(text_of(proc_ / "stat"));
  std::tie(now.network_in, now.network_out) = parse_network(text_of(proc_ / "net/dev"));
  if (tree_root_) {
    if (const auto tree = read_process_tree(proc_, *tree_root_)) {
      now.process_ticks = tree->ticks;
      now.process_memory = tree->memory;
      now.disk_read = tree->disk_read;
      now.disk_write = tree->disk_write;
    }
    return now;
  }
  now.process_ticks = parse_process_ticks(text_of(proc_ / "self/stat"));
  const std::string io = text_of(proc_ / "self/io");
  now.disk_read = to_double(find_number(io, "read_bytes"));
  now.disk_write = to_double(find_number(io, "write_bytes"));
  if (const auto resident = find_number(text_of(proc_ / "self/status"), "VmRSS")) {
    constexpr std::uint64_t kKiB = 1024;
    now.process_memory = *resident * kKiB;
  }
  return now;
}

void HostSampler::read_memory(HostSample& sample) const {
  constexpr std::uint64_t kKiB = 1024;
  const std::string info = text_of(proc_ / "meminfo");
  const auto total = find_number(info, "MemTotal");
  const auto available = find_number(info, "MemAvailable");
  if (total && available) {
    sample.memory_total = *total * kKiB;
    sample.memory_used = (*total - std::min(*total, *available)) * kKiB;
  }
}

// /proc/self/cgroup has "0::/group" for version 2 and "9:memory:/group" for version 1.
void HostSampler::read_limit(HostSample& sample) const {
  std::optional<Limit> tightest;
  const std::string groups = text_of(proc_ / "self/cgroup");
  for (const std::string_view line : split(groups, "\n")) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) {
      continue;
    }
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const Path group(line.substr(second + 1));
    std::optional<Limit> found;
    if (controllers.empty()) {
      found = find_limit(cgroup_, group, "memory.max", "memory.current");
    } else if (controllers == "memory") {
      found =
          find_limit(cgroup_ / "memory", group, "memory.limit_in_bytes", "memory.usage_in_bytes");
    }
    if (found && (!tightest || found->limit < tightest->limit)) {
      tightest = found;
    }
  }
  if (tightest) {
    sample.limit = tightest->limit;
    sample.limit_used = tightest->used;
  }
}

HostSample HostSampler::sample() {
  return sample_at(
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

HostSample HostSampler::sample_at(double now_s) {
  HostSample sample;
  const Counters now = read_counters(now_s);
  const std::string load = text_of(proc_ / "loadavg");
  sample.load = parse<double>(load);
  read_memory(sample);
  sample.process_memory = now.process_memory;
  read_limit(sample);
  if (before_) {
    const double elapsed = now.now_s - before_->now_s;
    const double ticks_per_s = static_cast<double>(::sysconf(_SC_CLK_TCK));
    const double all = now.cpu_all.value_or(0) - before_->cpu_all.value_or(0);
    sample.cpu_percent = percent(rate(before_->cpu_busy, now.cpu_busy, all));
    sample.process_cpu_percent =
        percent(rate(before_->process_ticks, now.process_ticks, elapsed * ticks_per_s));
    sample.disk_read_per_s = rate(before_->disk_read, now.disk_read, elapsed);
    sample.disk_write_per_s = rate(before_->disk_write, now.disk_write, elapsed);
    sample.network_in_per_s = rate(before_->network_in, now.network_in, elapsed);
    sample.network_out_per_s = rate(before_->network_out, now.network_out, elapsed);
  }
  before_ = now;
  return sample;
}

}  // namespace kedge::monitor
