// What is publicly known of the GPUs found in clusters: compute capability and memory. Jobs ask for
// what they need, not for a model by name: a pool has more GPUs that fit than GPUs of one name.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/units.h"

namespace kedge::jobs {

// "8.6". Not a number: 12.0 comes after 8.6, and 8.10 would not be 8.1.
struct Capability {
  int major = 0;
  int minor = 0;
  auto operator<=>(const Capability&) const = default;
};

// Errors: Usage.
Result<Capability> parse_capability(std::string_view text);
std::string render_capability(Capability capability);

struct GpuModel {
  std::string_view name;  // as the driver reports it, without "NVIDIA"
  Capability capability;
  std::int64_t memory_gb = 0;  // as it is sold
};

// The oldest GPUs that the libtorch of kedge-train (CUDA 13) has code for.
inline constexpr Capability kOldestForKedgeTrain = {7, 5};

// By capability, then by memory.
std::span<const GpuModel> gpu_catalogue();

struct GpuNeed {
  std::optional<Capability> least_capability = {};
  std::optional<Capability> most_capability = {};
  Bytes memory = {};
};

// Drivers report up to 8% less than the binary gigabytes that are sold (a T4 "16 GB" 15,110 MiB, an
// A40 "48 GB" 45,634 MiB), so a need of 16GB asks for 2% below 16e9 bytes: cards sold as such fit.
std::int64_t least_reported_mib(Bytes memory);

std::vector<GpuModel> gpus_that_fit(const GpuNeed& need);

// A GPU by its name or a part of it, whatever the case: "a100" finds both sizes of it.
std::vector<GpuModel> gpus_named(std::string_view part);

}  // namespace kedge::jobs
