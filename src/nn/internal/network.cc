#include "nn/internal/network.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <torch/types.h>

#include "nn/internal/recompute.h"
#include "nn/quantized_weight.h"

namespace kedge::nn {

void Network::add_block(std::string name, std::vector<std::string> prefixes,
                        std::function<Flow(Flow)> forward) {
  pieces_.push_back({std::move(name), std::move(prefixes), std::move(forward)});
}

Flow Network::run_until(std::size_t end, Flow flow) const {
  for (std::size_t i = 0; i < end; ++i) {
    const Piece& piece = pieces_[i];
    const bool is_inner = i > 0 && i + 1 < pieces_.size();
    flow = recomputes_ && is_training() && is_inner ? recomputed(piece.forward, flow)
                                                    : piece.forward(std::move(flow));
  }
  return flow;
}

at::Tensor Network::run_blocks(Flow flow) const {
  return run_until(pieces_.size(), std::move(flow)).x;
}

Head Network::forward_to_head(const ModelInput& input) {
  return head_of(run_until(pieces_.size() - 1, begin(input)));
}

// The first makes what the others keep, and of the last the scores are wanted at once.
bool Network::recompute_blocks() {
  recomputes_ = pieces_.size() > 2;
  return recomputes_;
}

std::vector<Block> Network::blocks() {
  const NamedTensors all = parameters();
  std::vector<Block> blocks;
  for (const Piece& piece : pieces_) {
    Block block{.name = piece.name, .parameters = {}, .forward = piece.forward};
    std::ranges::copy_if(all, std::back_inserter(block.parameters), [&](const auto& named) {
      return std::ranges::any_of(
          piece.prefixes, [&](const auto& prefix) { return named.first.starts_with(prefix); });
    });
    blocks.push_back(std::move(block));
  }
  return blocks;
}

void Network::to(at::Device device) {
  const auto packed = quantized_weights(*this);
  each_tensor([&](const std::string& name, at::Tensor& tensor, bool) {
    if (!packed.contains(name)) {
      tensor.set_data(tensor.detach().to(device));
    }
  });
  for (const auto& [name, weight] : packed) {
    weight->to(device);
  }
  lay_joined_together();
}

void Network::to(at::ScalarType type) {
  convert_floats(parameters(), type);
  convert_floats(buffers(), type);
  lay_joined_together();
}

void Network::allocate(at::Device device) {
  const auto packed = quantized_weights(*this);
  each_tensor([&](const std::string& name, at::Tensor& tensor, bool) {
    if (!packed.contains(name)) {
      tensor = at::empty_like(tensor.detach(), at::TensorOptions(device))
                   .set_requires_grad(tensor.requires_grad());
    }
  });
  for (const auto& [name, weight] : packed) {
    weight->allocate(device);
  }
  lay_joined_together();
}

NamedTensors Network::tensors(bool parameters) const {
  NamedTensors list;
  each_tensor([&](const std::string& name, const at::Tensor& tensor, bool is_parameter) {
    if (is_parameter == parameters) {
      list.emplace_back(name, tensor);
    }
  });
  return without_repeats(std::move(list));
}

at::Tensor split_heads(const at::Tensor& x_BTC, std::int64_t heads) {
  return x_BTC.unflatten(-1, {heads, x_BTC.size(-1) / heads}).transpose(1, 2);
}

NamedTensors without_repeats(NamedTensors tensors) {
  std::unordered_set<const c10::TensorImpl*> seen;
  std::erase_if(tensors, [&](const auto& named) {
    return !seen.insert(named.second.unsafeGetTensorImpl()).second;
  });
  return tensors;
}

void convert_floats(const NamedTensors& tensors, at::ScalarType type) {
  for (const auto& [name, tensor] : tensors) {
    if (tensor.is_floating_point()) {
      tensor.set_data(tensor.detach().to(type));
    }
  }
}

}  // namespace kedge::nn
