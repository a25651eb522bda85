#include "jobs/site.h"

#include <algorithm>
#include <cctype>
#include <limits>

namespace kedge::jobs {
namespace {

bool has_kind(const SiteMachine& machine, const GpuNeed& need) {
  const auto& capability = machine.gpu_capability;
  const bool is_new_enough =
      !need.least_capability || !capability || *capability >= *need.least_capability;
  const bool is_old_enough =
      !need.most_capability || !capability || *capability <= *need.most_capability;
  const bool is_large_enough =
      machine.gpu_memory_mb == 0 || machine.gpu_memory_mb >= least_reported_mib(need.memory);
  return is_new_enough && is_old_enough && is_large_enough;
}

}  // namespace

void complete_gpu(SiteMachine& machine) {
  // As the driver or a Slurm site writes it: "NVIDIA A40", "nvidia_a40".
  constexpr std::string_view kMaker = "nvidia ";
  std::string name = machine.gpu_name;
  std::ranges::transform(name, name.begin(), [](unsigned char c) {
    return c == '_' ? ' ' : static_cast<char>(std::tolower(c));
  });
  name.erase(0, name.starts_with(kMaker) ? kMaker.size() : 0);
  const std::vector<GpuModel> models = name.empty() ? std::vector<GpuModel>() : gpus_named(name);
  if (models.empty()) {
    return;
  }
  const GpuModel& first = models.front();
  if (!machine.gpu_capability && std::ranges::all_of(models, [&](const GpuModel& model) {
        return model.capability == first.capability;
      })) {
    machine.gpu_capability = first.capability;
  }
  if (machine.gpu_memory_mb == 0 && std::ranges::all_of(models, [&](const GpuModel& model) {
        return model.memory_gb == first.memory_gb;
      })) {
    machine.gpu_memory_mb =
        least_reported_mib({static_cast<std::uint64_t>(first.memory_gb) * 1'000'000'000});
  }
}

Result<GpuNeed> gpu_need(const JobSpec& spec) {
  GpuNeed need{.memory = spec.wants.gpu_memory};
  if (spec.wants.gpus == 0) {
    return need;
  }
  if (!spec.wants.gpu_capability.empty()) {
    need.least_capability = KEDGE_TRY(parse_capability(spec.wants.gpu_capability));
  } else if (spec.is_kedge) {
    need.least_capability = kOldestForKedgeTrain;
  }
  if (!spec.wants.gpu_capability_max.empty()) {
    need.most_capability = KEDGE_TRY(parse_capability(spec.wants.gpu_capability_max));
  }
  return need;
}

std::int64_t tasks_on(const SiteMachine& machine, const JobSpec& spec, const GpuNeed& need) {
  const config::JobConfig& wants = spec.wants;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto limit = [&](std::int64_t has, std::int64_t asked) {
    most = asked > 0 ? std::min(most, has / asked) : most;
  };
  limit(machine.cpus, wants.cpus * wants.ranks);
  limit(machine.memory_mb, static_cast<std::int64_t>(wants.memory.value >> 20U));
  limit(machine.gpus, wants.gpus);
  return wants.gpus > 0 && !has_kind(machine, need) ? 0 : most;
}

}  // namespace kedge::jobs
