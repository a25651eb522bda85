// How busy the NVIDIA GPUs of this machine are. NVML is opened at run time, so the same program
// runs where there is none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kedge::monitor {

// What a GPU does not tell is empty.
struct GpuSample {
  int index = 0;  // as NVML and nvidia-smi count
  std::string name;
  std::optional<double> utilization_percent;
  std::optional<std::uint64_t> memory_used;  // bytes
  std::optional<std::uint64_t> memory_total;
  std::optional<double> power_w;
  std::optional<double> temperature_c;
  std::optional<double> sm_clock_mhz;
  std::optional<double> pcie_in_per_s;  // bytes per second, measured over 20 ms
  std::optional<double> pcie_out_per_s;
};

class GpuSampler {
 public:
  // Never fails: without the library or a driver there are no GPUs.
  explicit GpuSampler(const char* library = "libnvidia-ml.so.1");
  GpuSampler(GpuSampler&&) noexcept;
  GpuSampler& operator=(GpuSampler&&) noexcept;
  ~GpuSampler();

  int count() const;
  std::vector<GpuSample> sample() const;

 private:
  class Nvml;
  std::unique_ptr<Nvml> nvml_;
};

}  // namespace kedge::monitor
