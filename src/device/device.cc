#include "device/device.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <vector>

#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>
#include <ATen/Parallel.h>
#include <ATen/SDPBackend.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <torch/cuda.h>
#include <torch/version.h>
#include <unistd.h>

#include "core/log.h"
#include "core/units.h"
#include "device/plugin.h"
#include "device/quiet_warnings.h"

namespace kedge::device {
namespace {

bool has_cuda() {
  return torch::cuda::is_available();
}

bool machine_has_gpu() {
  return std::filesystem::exists("/dev/nvidia0");
}

// Facts from the driver itself, which needs no CUDA headers: three functions of a stable C API.
struct GpuFacts {
  std::string name = "GPU";
  std::uint64_t memory_bytes = 0;
  int capability_major = 0;
  int capability_minor = 0;
};

GpuFacts read_gpu_facts(int index) {
  using GetName = int (*)(char*, int, int);
  using TotalMemory = int (*)(std::size_t*, int);
  using GetAttribute = int (*)(int*, int, int);
  constexpr int kCapabilityMajor = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
  constexpr int kCapabilityMinor = 76;

  GpuFacts facts;
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) {
    return facts;
  }
  const auto get_name = reinterpret_cast<GetName>(::dlsym(driver, "cuDeviceGetName"));
  const auto total_memory = reinterpret_cast<TotalMemory>(::dlsym(driver, "cuDeviceTotalMem_v2"));
  const auto get_attribute =
      reinterpret_cast<GetAttribute>(::dlsym(driver, "cuDeviceGetAttribute"));
  std::array<char, 256> name{};
  if (get_name != nullptr && get_name(name.data(), static_cast<int>(name.size()), index) == 0) {
    facts.name = name.data();
  }
  std::size_t memory = 0;
  if (total_memory != nullptr && total_memory(&memory, index) == 0) {
    facts.memory_bytes = memory;
  }
  if (get_attribute != nullptr) {
    get_attribute(&facts.capability_major, kCapabilityMajor, index);
    get_attribute(&facts.capability_minor, kCapabilityMinor, index);
  }
  return facts;
}

struct GpuMemory {
  std::uint64_t free_bytes = 0;
  std::uint64_t peak_bytes = 0;
};

#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 10
GpuMemory read_gpu_memory(int index) {
  c10::DeviceAllocator& allocator = *c10::getDeviceAllocator(c10::kCUDA);
  const auto device = static_cast<c10::DeviceIndex>(index);
  const auto peak = allocator.getDeviceStats(device).allocated_bytes[0].peak;
  return {.free_bytes = allocator.getMemoryInfo(device).first,
          .peak_bytes = static_cast<std::uint64_t>(peak)};
}
#else
// libtorch's allocator cannot be asked without CUDA's headers, so the driver is. The allocator
// gives nothing back: what the device has given away at the end is the most that was in use.
GpuMemory read_gpu_memory(int /*index*/) {
  using GetInfo = int (*)(std::size_t*, std::size_t*);
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW);
  const auto get_info =
      driver == nullptr ? nullptr : reinterpret_cast<GetInfo>(::dlsym(driver, "cuMemGetInfo_v2"));
  std::size_t free = 0;
  std::size_t total = 0;
  if (get_info == nullptr || get_info(&free, &total) != 0) {
    return {};
  }
  return {.free_bytes = free, .peak_bytes = total - free};
}
#endif

// A scheduler gave this job none, or the user wants none.
bool are_gpus_hidden() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible != nullptr && (*visible == '\0' || std::string_view(visible) == "-1");
}

int index_of(c10::Device device) {
  return device.has_index() ? device.index() : 0;
}

}  // namespace

Result<c10::Device> choose_device(config::DeviceChoice choice) {
  if (choice == config::DeviceChoice::Cpu) {
    return c10::Device(c10::kCPU);
  }
  if (has_cuda()) {
    return c10::Device(c10::kCUDA, at::accelerator::getDeviceIndex());
  }
  const std::string why =
      !machine_has_gpu()  ? "this machine has no NVIDIA GPU"
      : are_gpus_hidden() ? "CUDA_VISIBLE_DEVICES hides this machine's GPUs"
      : device::has_torch_cuda()
          ? "libtorch finds no usable GPU (driver too old?)"
          : fmt::format("libtorch's CUDA libraries cannot be opened: {}", device::why_missing());
  if (choice == config::DeviceChoice::Cuda) {
    return fail(ErrorKind::Unavailable, fmt::format("train.device is cuda, but {}", why),
                "use train.device=cpu, or `./dev setup` on the machine with the GPU");
  }
  if (machine_has_gpu() && !are_gpus_hidden()) {
    warn("training on the CPU: {}", why);
  }
  return c10::Device(c10::kCPU);
}

Result<Context> make_context(const config::TrainConfig& config) {
  Context context;
  context.device = KEDGE_TRY(choose_device(config.device));
  context.precision = resolve_precision(config.precision, context.device);
  if (context.device.is_cuda()) {
    quiet_warnings();
  }
  return context;
}

std::string describe_device(c10::Device device) {
  if (device.is_cuda()) {
    const GpuFacts facts = read_gpu_facts(index_of(device));
    return fmt::format("{}, {}, compute capability {}.{}", facts.name,
                       render_bytes({facts.memory_bytes}), facts.capability_major,
                       facts.capability_minor);
  }
  const int threads = at::get_num_threads();
  return fmt::format("CPU, {} thread{}, {}", threads, threads == 1 ? "" : "s",
                     at::get_cpu_capability());
}

nlohmann::json device_facts(c10::Device device) {
  nlohmann::json facts = {{"type", device.is_cuda() ? "cuda" : "cpu"},
                          {"threads", at::get_num_threads()}};
  if (device.is_cuda()) {
    const GpuFacts gpu = read_gpu_facts(index_of(device));
    facts["name"] = gpu.name;
    facts["memory_bytes"] = gpu.memory_bytes;
    facts["capability"] = fmt::format("{}.{}", gpu.capability_major, gpu.capability_minor);
    facts["count"] = torch::cuda::device_count();
  }
  return facts;
}

config::Precision resolve_precision(config::Precision wish, c10::Device device) {
  using config::Precision;
  if (!device.is_cuda()) {
    if (wish == Precision::Fp16) {
      warn("fp16 needs a GPU: using fp32");
      return Precision::Fp32;
    }
    return wish == Precision::Auto ? Precision::Fp32 : wish;
  }
  constexpr int kFirstWithBf16 = 8;  // Ampere
  const bool has_bf16 = read_gpu_facts(index_of(device)).capability_major >= kFirstWithBf16;
  if (wish == Precision::Auto) {
    return has_bf16 ? Precision::Bf16 : Precision::Fp16;
  }
  if (wish == Precision::Bf16 && !has_bf16) {
    warn("this GPU has no bf16: using fp16 with loss scaling");
    return Precision::Fp16;
  }
  return wish;
}

void prefer_attention(config::AttentionKernel kernel) {
  using enum at::SDPBackend;
  if (!has_cuda()) {
    return;
  }
  std::vector<at::SDPBackend> order = {flash_attention, cudnn_attention, efficient_attention, math,
                                       overrideable};
  const auto first = [&] {
    switch (kernel) {
      case config::AttentionKernel::Auto:
        break;
      case config::AttentionKernel::Flash:
        return flash_attention;
      case config::AttentionKernel::Cudnn:
        return cudnn_attention;
      case config::AttentionKernel::Efficient:
        return efficient_attention;
      case config::AttentionKernel::Math:
        return math;
    }
    constexpr int kHopper = 9;  // measured: docs/guides/gpu.md
    const int major = read_gpu_facts(at::accelerator::getDeviceIndex()).capability_major;
    return major == kHopper ? cudnn_attention : flash_attention;
  }();
  std::erase(order, first);
  order.insert(order.begin(), first);
  std::vector<std::int64_t> numbers;
  std::ranges::transform(order, std::back_inserter(numbers),
                         [](at::SDPBackend backend) { return static_cast<std::int64_t>(backend); });
  at::globalContext().setSDPPriorityOrder(numbers);
}

std::uint64_t peak_memory_bytes(c10::Device device) {
  if (device.is_cuda()) {
    return read_gpu_memory(index_of(device)).peak_bytes;
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;  // Linux counts in KiB
}

std::uint64_t free_memory_bytes(c10::Device device) {
  if (device.is_cuda()) {
    return read_gpu_memory(index_of(device)).free_bytes;
  }
  return static_cast<std::uint64_t>(::sysconf(_SC_AVPHYS_PAGES)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void synchronize(c10::Device device) {
  if (device.is_cuda()) {
    at::accelerator::synchronizeDevice(static_cast<c10::DeviceIndex>(index_of(device)));
  }
}

}  // namespace kedge::device
