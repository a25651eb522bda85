#include "monitor/gpu_sampler.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>

namespace kedge::monitor {
namespace {

constexpr int kSuccess = 0;
constexpr int kTemperatureGpu = 0;
constexpr int kClockSm = 1;
constexpr int kPcieTx = 0;
constexpr int kPcieRx = 1;

}  // namespace

class GpuSampler::Nvml {
  // Declared as in nvml.h, whose ABI NVIDIA keeps: a function that changes gets a new name.
  using Device = struct nvmlDevice_st*;

  struct Utilization {
    unsigned gpu;
    unsigned memory;
  };

  struct Memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
  };

 public:
  static std::unique_ptr<Nvml> open(const char* library) {
    auto nvml = std::unique_ptr<Nvml>(new Nvml(::dlopen(library, RTLD_NOW | RTLD_LOCAL)));
    return nvml->start() ? std::move(nvml) : nullptr;
  }

  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  ~Nvml() {
    if (is_started_ && shutdown_ != nullptr) {
      shutdown_();
    }
    if (library_ != nullptr) {
      ::dlclose(library_);
    }
  }

  int count() const { return static_cast<int>(devices_.size()); }

  std::vector<GpuSample> sample() const {
    std::vector<GpuSample> samples;
    for (const auto& [index, device, name] : devices_) {
      GpuSample sample;
      sample.index = index;
      sample.name = name;
      Utilization utilization{};
      if (utilization_ != nullptr && utilization_(device, &utilization) == kSuccess) {
        sample.utilization_percent = utilization.gpu;
      }
      Memory memory{};
      if (memory_ != nullptr && memory_(device, &memory) == kSuccess) {
        sample.memory_used = memory.used;
        sample.memory_total = memory.total;
      }
      sample.power_w = scaled(ask(power_, device), 1e-3);
      sample.temperature_c = ask(temperature_, device, kTemperatureGpu);
      sample.sm_clock_mhz = ask(clock_, device, kClockSm);
      sample.pcie_in_per_s = scaled(ask(pcie_, device, kPcieRx), 1024);
      sample.pcie_out_per_s = scaled(ask(pcie_, device, kPcieTx), 1024);
      samples.push_back(std::move(sample));
    }
    return samples;
  }

 private:
  struct Gpu {
    int index;
    Device device;
    std::string name;
  };

  explicit Nvml(void* library) : library_(library) {}

  template <typename Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
  }

  template <typename Function, typename... Args>
  static std::optional<double> ask(Function function, Device device, Args... args) {
    unsigned value = 0;
    return function != nullptr && function(device, args..., &value) == kSuccess
               ? std::optional<double>(value)
               : std::nullopt;
  }

  static std::optional<double> scaled(std::optional<double> value, double factor) {
    return value ? std::optional(*value * factor) : std::nullopt;
  }

  bool start() {
    if (library_ == nullptr) {
      return false;
    }
    int (*init)() = nullptr;
    int (*count)(unsigned*) = nullptr;
    int (*handle)(unsigned, Device*) = nullptr;
    int (*name)(Device, char*, unsigned) = nullptr;
    find(init, "nvmlInit_v2");
    find(count, "nvmlDeviceGetCount_v2");
    find(handle, "nvmlDeviceGetHandleByIndex_v2");
    find(name, "nvmlDeviceGetName");
    find(shutdown_, "nvmlShutdown");
    find(utilization_, "nvmlDeviceGetUtilizationRates");
    find(memory_, "nvmlDeviceGetMemoryInfo");
    find(power_, "nvmlDeviceGetPowerUsage");
    find(temperature_, "nvmlDeviceGetTemperature");
    find(clock_, "nvmlDeviceGetClockInfo");
    find(pcie_, "nvmlDeviceGetPcieThroughput");
    unsigned gpus = 0;
    if (init == nullptr || count == nullptr || handle == nullptr || init() != kSuccess) {
      return false;
    }
    is_started_ = true;
    if (count(&gpus) != kSuccess) {
      return false;
    }
    for (unsigned i = 0; i < gpus; ++i) {
      Device device = nullptr;
      std::array<char, 96> text{};  // NVML_DEVICE_NAME_V2_BUFFER_SIZE
      if (handle(i, &device) == kSuccess) {
        const bool has_name =
            name != nullptr && name(device, text.data(), unsigned{text.size()}) == kSuccess;
        devices_.push_back({static_cast<int>(i), device, has_name ? text.data() : ""});
      }
    }
    return true;
  }

  void* library_;
  bool is_started_ = false;
  int (*shutdown_)() = nullptr;
  int (*utilization_)(Device, Utilization*) = nullptr;
  int (*memory_)(Device, Memory*) = nullptr;
  int (*power_)(Device, unsigned*) = nullptr;
  int (*temperature_)(Device, int, unsigned*) = nullptr;
  int (*clock_)(Device, int, unsigned*) = nullptr;
  int (*pcie_)(Device, int, unsigned*) = nullptr;
  std::vector<Gpu> devices_;
};

GpuSampler::GpuSampler(const char* library) : nvml_(Nvml::open(library)) {}

GpuSampler::GpuSampler(GpuSampler&&) noexcept = default;
GpuSampler& GpuSampler::operator=(GpuSampler&&) noexcept = default;
GpuSampler::~GpuSampler() = default;

int GpuSampler::count() const {
  return nvml_ ? nvml_->count() : 0;
}

std::vector<GpuSample> GpuSampler::sample() const {
  return nvml_ ? nvml_->sample() : std::vector<GpuSample>();
}

}  // namespace kedge::monitor
