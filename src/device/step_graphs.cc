#include "device/step_graphs.h"

#include <exception>
#include <string_view>

#include "core/log.h"

namespace kedge::device {
namespace {

// libtorch chooses algorithms, and allocates what lasts, in the first steps of a shape.
constexpr std::int64_t kSeenBefore = 3;

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

at::Tensor StepGraphs::run(const Key& key, const std::function<at::Tensor()>& work,
                           const std::function<void()>& undo) {
  if (!is_on()) {
    return work();
  }
  Recording& recording = recordings_[key];
  if (recording.seen++ < kSeenBefore) {
    return work();
  }
  if (recording.graph == nullptr) {
    try {
      record(recording, work);
    } catch (const std::exception& error) {
      warn("{} are not recorded as CUDA graphs: {}", what_, first_line(error.what()));
      plugin_ = nullptr;
      recordings_.clear();
      undo();
      return work();
    }
  }
  recording.graph->replay();
  return recording.result;
}

void StepGraphs::record(Recording& recording, const std::function<at::Tensor()>& work) {
  at::Tensor result;
  recording.graph = plugin_->record([&] { result = work(); });
  recording.result = std::move(result);
}

}  // namespace kedge::device
