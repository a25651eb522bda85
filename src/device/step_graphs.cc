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
  Captured& captured = captured_[key];
  if (captured.seen++ < kSeenBefore) {
    return work();
  }
  if (captured.graph == nullptr) {
    try {
      capture(captured, work);
    } catch (const std::exception& error) {
      warn("{} are not captured as CUDA graphs: {}", what_, first_line(error.what()));
      plugin_ = nullptr;
      captured_.clear();
      undo();
      return work();
    }
  }
  captured.graph->replay();
  return captured.result;
}

void StepGraphs::capture(Captured& captured, const std::function<at::Tensor()>& work) {
  at::Tensor result;
  captured.graph = plugin_->capture([&] { result = work(); });
  captured.result = std::move(result);
}

}  // namespace kedge::device
