// What a Slurm site allows, asked before submitting: Slurm takes jobs that break a partition's
// limits, and lets them wait for ever.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "jobs/job_spec.h"

namespace kedge::jobs::slurm {

struct Partition {
  std::string name;
  bool is_default = false;
  std::int64_t nodes = 0;
  std::optional<double> time_s = {};           // the longest job; nothing: any
  std::optional<std::int64_t> job_nodes = {};  // the largest job; nothing: any
};

// The columns for `sinfo -h -o`, and what it prints: a partition may have several lines.
std::string partition_columns();
std::vector<Partition> parse_partitions(std::string_view text);

// Usage, where none of the partitions that the job may run in could ever take it.
Result<void> check_limits(const JobSpec& spec, const std::vector<Partition>& partitions);

// The number that indices of an array must stay below, in what `scontrol show config` prints; 0
// where it does not say.
std::int64_t parse_array_limit(std::string_view config);

}  // namespace kedge::jobs::slurm
