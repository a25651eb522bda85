#include "track/internal/system_watch.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/result.h"
#include "monitor/gpu_sampler.h"
#include "monitor/host_sampler.h"
#include "track/internal/recorder.h"

namespace kedge::track {
namespace {

void log_sample(Recorder& recorder, monitor::HostSampler& host, const monitor::GpuSampler& gpus) {
  Item item{.kind = Item::Kind::Event, .type = "system", .step = kLastStep};
  item.body = nlohmann::json::object();
  for (auto& [name, value] : name_values(host.sample(), gpus.sample())) {
    item.body[name] = value;
  }
  item.size = item.body.size() * sizeof(nlohmann::json);
  recorder.add(std::move(item));
}

}  // namespace

SystemWatch::SystemWatch(Recorder& recorder, double every_s, std::optional<std::int64_t> tree_root)
    : recorder_(recorder), every_(every_s), tree_root_(tree_root), thread_([this] { run(); }) {}

SystemWatch::~SystemWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void SystemWatch::run() noexcept {
  try {
    monitor::HostSampler host("/proc", "/sys/fs/cgroup", tree_root_);
    const monitor::GpuSampler gpus;
    std::unique_lock lock(mutex_);
    do {
      lock.unlock();
      log_sample(recorder_, host, gpus);
      lock.lock();
    } while (!wake_.wait_for(lock, every_, [this] { return is_stopping_; }));
  } catch (const std::exception& exception) {
    recorder_.note_trouble({ErrorKind::Io, exception.what(), ""});
  }
}

std::vector<std::pair<std::string, double>> name_values(
    const monitor::HostSample& host, const std::vector<monitor::GpuSample>& gpus) {
  std::vector<std::pair<std::string, double>> values;
  const auto add = [&](std::string name, const auto& value) {
    if (value) {
      values.emplace_back(std::move(name), static_cast<double>(*value));
    }
  };
  add("cpu/percent", host.cpu_percent);
  add("cpu/process_percent", host.process_cpu_percent);
  add("cpu/load", host.load);
  add("memory/used_bytes", host.memory_used);
  add("memory/total_bytes", host.memory_total);
  add("memory/process_bytes", host.process_memory);
  add("memory/limit_used_bytes", host.limit_used);
  add("memory/limit_bytes", host.limit);
  add("disk/read_bytes_per_s", host.disk_read_per_s);
  add("disk/write_bytes_per_s", host.disk_write_per_s);
  add("network/in_bytes_per_s", host.network_in_per_s);
  add("network/out_bytes_per_s", host.network_out_per_s);
  for (const monitor::GpuSample& gpu : gpus) {
    const std::string prefix = fmt::format("gpu/{}/", gpu.index);
    add(prefix + "percent", gpu.utilization_percent);
    add(prefix + "memory_used_bytes", gpu.memory_used);
    add(prefix + "memory_total_bytes", gpu.memory_total);
    add(prefix + "power_w", gpu.power_w);
    add(prefix + "temperature_c", gpu.temperature_c);
    add(prefix + "sm_clock_mhz", gpu.sm_clock_mhz);
    add(prefix + "pcie_in_bytes_per_s", gpu.pcie_in_per_s);
    add(prefix + "pcie_out_bytes_per_s", gpu.pcie_out_per_s);
  }
  return values;
}

}  // namespace kedge::track
