#include "train/internal/random_state.h"

#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/types.h>

#include "nn/tensor_view.h"
#include "train/internal/restore.h"

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

Result<void> broadcast_random_state(dist::ProcessGroup& group, const checkpoint::Checkpoint* saved,
                                    at::Device device) {
  for (auto& [name, generator] : generators(device)) {
    at::Tensor own;
    {
      const std::lock_guard lock(generator.mutex());
      own = generator.get_state();
    }
    // Row r: whether rank r's state was saved, then its bytes.
    at::Tensor states = torch::zeros({group.size(), own.numel() + 1}, torch::kByte);
    for (std::int64_t rank = 0; saved != nullptr && rank < group.size(); ++rank) {
      const checkpoint::TensorView* view =
          find_tensor(saved->part("rng"), rank == 0 ? name : fmt::format("{}.{}", name, rank));
      if (view != nullptr && static_cast<std::int64_t>(view->bytes.size()) == own.numel()) {
        states[rank][0] = 1;
        states[rank].slice(0, 1).copy_(nn::to_tensor(*view).view({-1}));
      }
    }
    group.broadcast(states);
    const at::Tensor mine = states[group.rank()];
    if (mine[0].item<std::uint8_t>() == 1) {
      const std::lock_guard lock(generator.mutex());
      generator.set_state(mine.slice(0, 1).clone().view(own.sizes()));
    }
  }
  return {};
}

void seed_rank(std::uint64_t seed, std::int64_t rank) {
  constexpr std::uint64_t kStride = 0x9e3779b97f4a7c15;  // far apart, whatever the seed
  torch::manual_seed(seed + static_cast<std::uint64_t>(rank) * kStride);
}

}  // namespace kedge::train
