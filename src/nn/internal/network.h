// A Network is a Model made of layers, in blocks. Forward passes use no sizes of their input as
// numbers (flatten(1), unflatten, expand_as), because tracing would freeze them and the exported
// network would take one batch size only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nn/layers.h"
#include "nn/model.h"

namespace kedge::nn {

class Network : public Layer, public Model {
 public:
  Network(const Making& making, WeightNames names) : Layer(making), names_(std::move(names)) {}

  at::Tensor forward(const ModelInput& input) override { return run_blocks(begin(input)); }

  Head forward_to_head(const ModelInput& input) override;

  std::vector<Block> blocks() override;

  NamedTensors parameters() const override { return tensors(/*parameters=*/true); }

  NamedTensors buffers() const override { return tensors(/*parameters=*/false); }

  const WeightNames& names() const override { return names_; }

  void set_training(bool is_training) override { set_mode(is_training); }

  bool recompute_blocks() override;

  void to(at::Device device) override;
  void to(at::ScalarType type) override;
  void allocate(at::Device device) override;

 protected:
  // The next block; `prefixes` are those of its parameters' names.
  void add_block(std::string name, std::vector<std::string> prefixes,
                 std::function<Flow(Flow)> forward);

  // A layer that takes and gives a Flow, and the block of its name that it is.
  template <typename LayerType>
  void add_block_layer(const std::string& name, std::shared_ptr<LayerType> layer) {
    add_layer(name, layer);
    add_block(name, {name + "."}, [layer](const Flow& flow) { return layer->forward(flow); });
  }

  at::Tensor run_blocks(Flow flow) const;

  // What the first block gets.
  virtual Flow begin(const ModelInput& input) const { return {.x = input.x}; }

  // The last block without its last layer, of what the others gave.
  virtual Head head_of(const Flow& /*flow*/) { return {}; }

 private:
  struct Piece {
    std::string name;
    std::vector<std::string> prefixes;
    std::function<Flow(Flow)> forward;
  };

  NamedTensors tensors(bool parameters) const;
  Flow run_until(std::size_t end, Flow flow) const;

  WeightNames names_;
  std::vector<Piece> pieces_;
  bool recomputes_ = false;
};

// [B, T, H D] as [B, H, T, D].
at::Tensor split_heads(const at::Tensor& x_BTC, std::int64_t heads);

// Each tensor once, under the first of its names.
NamedTensors without_repeats(NamedTensors tensors);

// Floating-point tensors change their type in place, so that optimizers keep hold of them.
void convert_floats(const NamedTensors& tensors, at::ScalarType type);

}  // namespace kedge::nn
