#include "jobs/slurm/node_list.h"

#include <algorithm>
#include <cstdlib>

#include "jobs/slurm/columns.h"

namespace kedge::jobs::slurm {
namespace {

std::int64_t number(const std::string& text) {
  return std::strtoll(text.c_str(), nullptr, 10);
}

// "gpu:2", "gpu:a100:4(S:0-1)", maybe several between commas.
void add_gpus(SiteMachine& machine, const std::string& gres) {
  for (const std::string& resource : split(gres, ',')) {
    const std::vector<std::string> parts = split(resource.substr(0, resource.find('(')), ':');
    if (parts.size() < 2 || parts[0] != "gpu") {
      continue;
    }
    machine.gpus += number(parts.back());
    machine.gpu_name = parts.size() > 2 ? parts[1] : machine.gpu_name;
  }
  complete_gpu(machine);
}

}  // namespace

std::string node_columns() {
  return "%N|%c|%m|%G";
}

std::vector<SiteMachine> parse_nodes(std::string_view text) {
  std::vector<SiteMachine> machines;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> parts = split(line, '|');
    if (parts.size() < 4 ||
        std::ranges::find(machines, parts[0], &SiteMachine::name) != machines.end()) {
      continue;
    }
    SiteMachine machine{.name = parts[0], .cpus = number(parts[1]), .memory_mb = number(parts[2])};
    add_gpus(machine, parts[3]);
    machines.push_back(std::move(machine));
  }
  return machines;
}

}  // namespace kedge::jobs::slurm
