// Logs how busy the machine is, every so many seconds, on a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "monitor/gpu_sampler.h"
#include "monitor/host_sampler.h"
#include "track/internal/recorder.h"

namespace kedge::track {

class SystemWatch {
 public:
  // The first record is logged at once. The recorder must live longer. With a `tree_root`, the
  // process meant is that one and all it has started.
  SystemWatch(Recorder& recorder, double every_s, std::optional<std::int64_t> tree_root = {});
  SystemWatch(const SystemWatch&) = delete;
  SystemWatch& operator=(const SystemWatch&) = delete;
  ~SystemWatch();

 private:
  void run() noexcept;

  Recorder& recorder_;
  std::chrono::duration<double> every_;
  std::optional<std::int64_t> tree_root_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_stopping_ = false;
  std::thread thread_;  // last: it starts when all else is there
};

// The names are those of the `system` record in docs/formats/klog.md.
std::vector<std::pair<std::string, double>> name_values(
    const monitor::HostSample& host, const std::vector<monitor::GpuSample>& gpus);

}  // namespace kedge::track
