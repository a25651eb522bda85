// StepGraphs does the device work of a training step, or of a batch of the validation: as it comes
// the first times, captured then, and replayed with one launch from there on. What is captured is
// exact: the same kernels with the same numbers, and each step is done once.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>

#include "device/plugin.h"

namespace kedge::device {

// For the thread that trains. It owns the graphs and what they return; both go with it.
class StepGraphs {
 public:
  // Steps with equal keys do the same work on the same memory.
  struct Key {
    const void* inputs = nullptr;
    std::int64_t count = 0;       // samples
    double batches_per_step = 1;  // the samples of the step by those of this batch
    bool is_last_micro_batch = true;
    double batch_fraction = 1;  // of the samples of all ranks

    auto operator<=>(const Key&) const = default;
  };

  // Nothing is captured without a plugin. `what` is what the user knows the work as.
  explicit StepGraphs(device::Plugin* plugin, std::string what = "steps")
      : plugin_(plugin), what_(std::move(what)) {}

  bool is_on() const { return plugin_ != nullptr; }

  // What `work` returns: a tensor that each replay fills anew. A step that cannot be captured is
  // done as it comes, now and from now on, after `undo` has cleared what the attempt left on the
  // host; the user is told why.
  at::Tensor run(const Key& key, const std::function<at::Tensor()>& work,
                 const std::function<void()>& undo);

 private:
  struct Captured {
    std::int64_t seen = 0;
    std::unique_ptr<device::Graph> graph;
    at::Tensor result;
  };

  void capture(Captured& captured, const std::function<at::Tensor()>& work);

  device::Plugin* plugin_;
  std::string what_;
  std::map<Key, Captured> captured_;
};

}  // namespace kedge::device
