// What a site has, as its scheduler tells it: machines with their sizes and GPUs, and how much one
// user may have of them at the same time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobs/gpu_catalogue.h"
#include "jobs/job_spec.h"

namespace kedge::jobs {

struct SiteMachine {
  std::string name;
  std::int64_t cpus = 0;
  std::int64_t memory_mb = 0;  // of 1024 * 1024 bytes
  std::int64_t gpus = 0;
  // Of each of its GPUs; what the scheduler does not tell is taken from the catalogue where the
  // name is enough.
  std::string gpu_name = {};
  std::optional<Capability> gpu_capability = {};
  std::int64_t gpu_memory_mb = 0;
};

struct Site {
  std::vector<SiteMachine> machines;
  std::optional<std::int64_t> tasks_per_user = {};  // at the same time; nothing: no limit known
};

// "NVIDIA A40", "a100": fills in capability and memory where all GPUs of that name agree.
void complete_gpu(SiteMachine& machine);

// What a GPU of the job must be; nothing where it says nothing about it.
Result<GpuNeed> gpu_need(const JobSpec& spec);

// How many tasks of the job the machine could run at the same time, were it empty; 0: it does not
// fit. What is not known of a machine does not exclude it.
std::int64_t tasks_on(const SiteMachine& machine, const JobSpec& spec, const GpuNeed& need);

}  // namespace kedge::jobs
