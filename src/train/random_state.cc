#include "train/random_state.h"

#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/types.h>

#include "nn/tensor_view.h"
#include "train/restore.h"

namespace kedge::train {
namespace {

std::vector<std::pair<std::string, at::Generator>> generators(at::Device device) {
  std::vector<std::pair<std::string, at::Generator>> all;
  all.emplace_back("cpu", at::globalContext().defaultGenerator(at::kCPU));
  if (device.is_cuda()) {
    all.emplace_back("cuda", at::globalContext().defaultGenerator(device));
  }
  return all;
}

}  // namespace

nn::NamedTensors random_state(at::Device device) {
  nn::NamedTensors states;
  for (auto& [name, generator] : generators(device)) {
    const std::lock_guard lock(generator.mutex());
    states.emplace_back(name, generator.get_state());
  }
  return states;
}

Result<void> restore_random_state(const checkpoint::TensorFile& saved, at::Device device) {
  for (auto& [name, generator] : generators(device)) {
    const checkpoint::TensorView* view = find_tensor(saved, name);
    if (view == nullptr) {
      continue;
    }
    const at::Tensor state = nn::to_tensor(*view);
    const std::lock_guard lock(generator.mutex());
    if (state.scalar_type() != at::kByte || state.sizes() != generator.get_state().sizes()) {
      return fail(ErrorKind::Corrupt,
                  fmt::format("the checkpoint's random state '{}' has {} values of another kind",
                              name, state.numel()),
                  "it was saved with another libtorch: use that one to go on");
    }
    generator.set_state(state);
  }
  return {};
}

}  // namespace kedge::train
