#include "jobs/slurm/limits.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "jobs/slurm/accounting.h"
#include "jobs/slurm/columns.h"

namespace kedge::jobs::slurm {
namespace {

std::vector<Partition> partitions_of(const JobSpec& spec, const std::vector<Partition>& all) {
  const std::vector<std::string> wanted = split(spec.wants.queue, ',');
  std::vector<Partition> found;
  std::ranges::copy_if(all, std::back_inserter(found), [&](const Partition& partition) {
    return spec.wants.queue.empty() ? partition.is_default
                                    : std::ranges::find(wanted, partition.name) != wanted.end();
  });
  return found;
}

std::string names_of(const std::vector<Partition>& partitions) {
  std::vector<std::string> names;
  for (const Partition& partition : partitions) {
    names.push_back(partition.name);
  }
  return fmt::format("partition {}", fmt::join(names, ","));
}

bool has_time(const Partition& partition, double time_s) {
  return !partition.time_s || time_s <= *partition.time_s;
}

std::int64_t most_nodes(const Partition& partition) {
  return std::min(partition.nodes, partition.job_nodes.value_or(partition.nodes));
}

}  // namespace

std::string partition_columns() {
  return "%P|%D|%l|%s";
}

std::vector<Partition> parse_partitions(std::string_view text) {
  std::vector<Partition> partitions;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> parts = split(line, '|');
    if (parts.size() < 4 || parts[0].empty()) {
      continue;
    }
    Partition partition{
        .name = parts[0],
        .is_default = parts[0].ends_with('*'),
        .nodes = parse_number<std::int64_t>(parts[1]).value_or(0),
        .time_s = parse_duration(parts[2]),  // "infinite" is none
        .job_nodes = parse_number<std::int64_t>(parts[3].substr(parts[3].find('-') + 1))};
    partition.name.erase(std::min(partition.name.find('*'), partition.name.size()));
    const auto known = std::ranges::find(partitions, partition.name, &Partition::name);
    if (known == partitions.end()) {
      partitions.push_back(std::move(partition));
    } else {
      known->nodes += partition.nodes;
    }
  }
  return partitions;
}

Result<void> check_limits(const JobSpec& spec, const std::vector<Partition>& all) {
  const std::vector<Partition> partitions = partitions_of(spec, all);
  if (partitions.empty()) {
    return {};  // sbatch says which names there are
  }
  const auto largest = std::ranges::max(partitions, {}, most_nodes);
  if (spec.wants.nodes > most_nodes(largest)) {
    return fail(ErrorKind::Usage,
                fmt::format("job.nodes is {}, and {} gives a job {}", spec.wants.nodes,
                            names_of(partitions), most_nodes(largest)));
  }
  const double time_s = spec.wants.time.value;
  if (std::ranges::none_of(partitions, [&](const Partition& p) { return has_time(p, time_s); })) {
    const double most_s = *std::ranges::max(partitions, {}, [](const Partition& p) {
                             return p.time_s.value_or(0);
                           }).time_s;
    const std::string most = render_seconds({most_s});
    return fail(
        ErrorKind::Usage,
        fmt::format("job.time is {}, and {} allows {}", render_seconds(spec.wants.time),
                    names_of(partitions), most),
        spec.is_resumable()
            ? fmt::format("job.time={}: it saves at the limit, and the next start goes on", most)
            : "`sinfo -o \"%P %l\"` shows the limits; job.queue names another partition");
  }
  return {};
}

std::int64_t parse_array_limit(std::string_view config) {
  for (const std::string& line : split(config, '\n')) {
    // "MaxArraySize            = 1001"
    if (line.starts_with("MaxArraySize")) {
      const std::size_t at = line.find_first_of("0123456789");
      return at == std::string::npos ? 0 : parse_number<std::int64_t>(line.substr(at)).value_or(0);
    }
  }
  return 0;
}

}  // namespace kedge::jobs::slurm
