// Waits finds the operations of a step that read a value back from the device. The host waits there
// until the device has done all before them, and the step cannot be captured. It looks at the names
// of libtorch's operations as they are called, so it finds on a CPU what would wait on a GPU.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <c10/core/Device.h>

namespace kedge::train {

class Waits {
 public:
  explicit Waits(c10::Device device) : device_(device) {}

  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;

  // Looks while it lives; null: looks at nothing. One at a time in a process.
  class Watch {
   public:
    explicit Watch(Waits* waits);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    class Observer;
    std::unique_ptr<Observer> observer_;
  };

  // By the outermost operation that reads ("aten::item", "aten::one_hot"): how often, all watches
  // together.
  std::map<std::string, std::int64_t> found() const;
  std::map<std::string, double> per_watch() const;

  // The same in words, a watch being one step.
  std::vector<std::string> describe() const;

 private:
  c10::Device device_;
  mutable std::mutex mutex_;  // backward passes run on threads of their own
  std::map<std::string, std::int64_t> found_;
  std::int64_t watches_ = 0;
};

}  // namespace kedge::train
