#include "monitor/process_tree.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "core/file.h"
#include "monitor/internal/proc_text.h"

namespace kedge::monitor {
namespace {

struct Process {
  std::int64_t parent = 0;
  double ticks = 0;
  std::uint64_t pages = 0;
};

// Fields of /proc/PID/stat by their numbers in proc(5). Field 2, the program's name in parentheses,
// may hold spaces and parentheses.
std::optional<Process> parse_stat(std::string_view stat) {
  constexpr std::size_t kParent = 4;
  constexpr std::size_t kFirstTime = 14;  // utime, stime, cutime, cstime
  constexpr std::size_t kResident = 24;
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) {
    return std::nullopt;
  }
  const auto words = split(stat.substr(name_end + 1), " \n");
  const auto field = [&](std::size_t number) { return words[number - 3]; };
  if (words.size() < kResident - 2) {
    return std::nullopt;
  }
  Process process{.parent = parse<std::int64_t>(field(kParent)).value_or(0),
                  .pages = parse<std::uint64_t>(field(kResident)).value_or(0)};
  for (std::size_t i = 0; i < 4; ++i) {
    process.ticks += parse<double>(field(kFirstTime + i)).value_or(0);
  }
  return process;
}

std::map<std::int64_t, Process> read_processes(const Path& proc) {
  std::map<std::int64_t, Process> processes;
  std::error_code error;
  std::filesystem::directory_iterator entry(proc, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const auto pid = parse<std::int64_t>(entry->path().filename().string());
    if (!pid) {
      continue;
    }
    // Processes end while they are counted.
    if (const auto process = parse_stat(text_of(entry->path() / "stat"))) {
      processes[*pid] = *process;
    }
  }
  return processes;
}

void add_disk(ProcessTree& tree, const Path& folder) {
  const std::string io = text_of(folder / "io");
  const auto add = [](std::optional<double>& sum, std::optional<std::uint64_t> value) {
    if (value) {
      sum = sum.value_or(0) + static_cast<double>(*value);
    }
  };
  add(tree.disk_read, find_number(io, "read_bytes"));
  add(tree.disk_write, find_number(io, "write_bytes"));
}

}  // namespace

std::optional<ProcessTree> read_process_tree(const Path& proc, std::int64_t root_pid) {
  const auto processes = read_processes(proc);
  if (!processes.contains(root_pid)) {
    return std::nullopt;
  }
  std::map<std::int64_t, std::vector<std::int64_t>> children;
  for (const auto& [pid, process] : processes) {
    children[process.parent].push_back(pid);
  }
  const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  ProcessTree tree;
  std::vector<std::int64_t> waiting = {root_pid};
  while (!waiting.empty()) {
    const std::int64_t pid = waiting.back();
    waiting.pop_back();
    const Process& process = processes.at(pid);
    tree.ticks += process.ticks;
    tree.memory += process.pages * page_bytes;
    ++tree.process_count;
    add_disk(tree, proc / std::to_string(pid));
    const auto& started = children[pid];
    waiting.insert(waiting.end(), started.begin(), started.end());
  }
  return tree;
}

}  // namespace kedge::monitor
