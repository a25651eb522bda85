#include "jobs/condor/machine_list.h"

#include <cstdlib>
#include <sstream>
#include <string>

namespace kedge::jobs::condor {
namespace {

// "undefined" where a machine has no such thing.
std::int64_t parse_count(const std::string& text) {
  return std::strtoll(text.c_str(), nullptr, 10);
}

}  // namespace

std::vector<SiteMachine> parse_machines(std::string_view text) {
  std::vector<SiteMachine> machines;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> parts;
    std::istringstream stream(line);
    for (std::string part; std::getline(stream, part, '\t');) {
      parts.push_back(part);
    }
    if (parts.size() < 7) {
      continue;
    }
    SiteMachine machine{.name = parts[0],
                        .cpus = parse_count(parts[1]),
                        .memory_mb = parse_count(parts[2]),
                        .gpus = parse_count(parts[3])};
    if (machine.gpus > 0) {
      machine.gpu_name = parts[4] == "undefined" ? "" : parts[4];
      const auto capability = parse_capability(parts[5]);
      machine.gpu_capability = capability ? std::optional(*capability) : std::nullopt;
      machine.gpu_memory_mb = parse_count(parts[6]);
      complete_gpu(machine);
    }
    machines.push_back(std::move(machine));
  }
  return machines;
}

}  // namespace kedge::jobs::condor
