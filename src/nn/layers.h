// Layers that models are made of. Each owns its forward pass: the plain operations, or what the
// device's context does faster. A converter (nn/converter.h) puts others in their place: adapters,
// quantised weights, weights that are split over ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "device/context.h"

namespace kedge::nn {

using device::Activation;
using device::AddNormed;

// How a model's layers are made. Every layer keeps a copy.
struct Making {
  device::ContextPtr context = std::make_shared<const device::Context>();  // never null
  bool has_memory = true;  // false: on the meta device, until Model::allocate()
  // Where tensors are made, and of which type their floats are. Models that fill a device are made
  // on it; the initial values of others come from the CPU's generator on every device.
  at::Device device{at::kCPU};
  at::ScalarType type = at::kFloat;
  // False: the weights of linear layers have none, for a converter that keeps them in few bits.
  bool has_linear_memory = true;
};

class Linear;
class QuantizedWeight;

// A part of a network with tensors of its own, other layers inside it, or both. It knows where they
// are kept, so that they can be exchanged: a slot must be a member of the object that adds it.
class Layer {
 public:
  explicit Layer(Making making) : making_(std::move(making)) {}

  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  bool is_training() const { return is_training_; }

  const Making& making() const { return making_; }

  // This layer and all inside it.
  void set_mode(bool is_training);

  // Each tensor with its name from here ("attn.c_proj.weight"): a layer's own come before those of
  // the layers inside it, each in the order in which they were added.
  using VisitTensor = std::function<void(const std::string& name, at::Tensor&, bool is_parameter)>;
  void each_tensor(const VisitTensor& visit, const std::string& prefix = "") const;

  // Each layer inside this one with its name from here, in the same order.
  using VisitLayer = std::function<void(const std::string& name, Layer&)>;
  void each_layer(const VisitLayer& visit, const std::string& prefix = "");

  // What `convert` returns for a Linear inside this layer takes its place; the same one back leaves
  // it. Only those added by add_linear() are offered.
  using ConvertLinear = std::function<std::shared_ptr<Linear>(const std::string& name,
                                                              const std::shared_ptr<Linear>&)>;
  void convert_linears(const ConvertLinear& convert, const std::string& prefix = "");

 protected:
  // `slot` becomes `value`, which requires a gradient; on the meta device where there is no memory.
  // Slots stay the layer's: whoever exchanges a tensor writes to them.
  void add_parameter(std::string name, at::Tensor& slot, const at::Tensor& value);
  void add_buffer(std::string name, at::Tensor& slot, const at::Tensor& value);

  template <typename LayerType>
  std::shared_ptr<LayerType> add_layer(std::string name, std::shared_ptr<LayerType> layer) {
    layers_.push_back({std::move(name), layer, nullptr});
    return layer;
  }

  // Makes a Linear that converters may exchange.
  void add_linear(std::string name, std::shared_ptr<Linear>& slot, std::int64_t in,
                  std::int64_t out, bool has_bias = true);

  // These are asked together, by forward_joined().
  void add_joined(std::vector<std::shared_ptr<Linear>*> linears) {
    joined_.push_back(std::move(linears));
  }

  // Of a float tensor that is about to be made.
  at::TensorOptions options() const;

  const device::Context& context() const { return *making_.context; }

  // On a GPU and where fused operations are used, the weights of layers that are asked together
  // move side by side, so that they are one matrix. For whoever has just given the tensors their
  // memory.
  void lay_joined_together();

 private:
  struct TensorSlot {
    std::string name;
    at::Tensor* tensor;
    bool is_parameter;
  };

  struct Inner {
    std::string name;
    std::shared_ptr<Layer> layer;
    std::shared_ptr<Linear>* slot;  // null: it stays
  };

  Making making_;
  bool is_training_ = true;
  std::vector<TensorSlot> tensors_;
  std::vector<Inner> layers_;
  std::vector<std::vector<std::shared_ptr<Linear>*>> joined_;
};

// activation(x weight^T + bias), with torch.nn.Linear's initial weights.
class Linear : public Layer {
 public:
  Linear(const Making& making, std::int64_t in, std::int64_t out, bool has_bias = true);

  // Over the tensors of another, which it takes the place of.
  Linear(const Making& making, const Linear& other);

  virtual at::Tensor forward(const at::Tensor& x, Activation activation = Activation::None);

  // The result's columns in three equal parts, as attention wants them.
  virtual std::vector<at::Tensor> forward_thirds(const at::Tensor& x);

  // What is added to the product; nothing: a layer that is more than that (dropout in its adapter,
  // say) and must be asked alone.
  virtual std::optional<device::Adapter> adapter() const { return device::Adapter(); }

  // From now on the weight's values are `bits`, which load_weights() fills, and they are frozen.
  void keep_as(std::shared_ptr<QuantizedWeight> bits);

  // For one that was made without has_linear_memory.
  void give_weight_memory();

  at::Tensor weight;  // [out, in]
  at::Tensor bias;    // [out], or undefined
  // Null, or what holds the values; the weight is on the meta device then.
  std::shared_ptr<QuantizedWeight> packed;

 protected:
  // x weight^T + bias, by plain operations.
  at::Tensor product(const at::Tensor& x) const;
};

// What several layers give for one input.
struct Joined {
  std::vector<at::Tensor> parts;  // of each layer
  bool is_rotated = false;
};

// As one product where the context can do that, turned by `rotation`; else one after the other.
Joined forward_joined(const std::vector<Linear*>& linears, const at::Tensor& x,
                      const device::Rotation& rotation = {});

// The same, or nothing where the context cannot.
std::vector<at::Tensor> forward_fused(const std::vector<Linear*>& linears, const at::Tensor& x,
                                      const device::Rotation& rotation = {});

// silu(gate) * up.
at::Tensor gated(const device::Context& context, const at::Tensor& gate, const at::Tensor& up);

// torch.nn.LayerNorm over the last dimension.
class LayerNorm : public Layer {
 public:
  LayerNorm(const Making& making, std::int64_t width, double eps = 1e-5);

  at::Tensor forward(const at::Tensor& x);

  // x + delta (x where that is undefined), and its normalisation.
  AddNormed forward_sum(const at::Tensor& x, const at::Tensor& delta);

  at::Tensor weight;
  at::Tensor bias;

 private:
  double eps_;
};

// x / sqrt(mean(x^2) + eps) * weight over the last dimension (Zhang and Sennrich 2019), computed in
// float32 and brought to x's type before the weight, as in transformers.
class RmsNorm : public Layer {
 public:
  RmsNorm(const Making& making, std::int64_t width, double eps);

  at::Tensor forward(const at::Tensor& x) const;

  // x + delta (x where that is undefined), and its normalisation.
  AddNormed forward_sum(const at::Tensor& x, const at::Tensor& delta) const;

  at::Tensor weight;

 private:
  double eps_;
};

// Rows of a table, by number.
class Embedding : public Layer {
 public:
  Embedding(const Making& making, std::int64_t rows, std::int64_t width);

  at::Tensor forward(const at::Tensor& indices) const;

  at::Tensor weight;  // [rows, width]
};

// x with random values left out in training, the rest scaled up; x itself otherwise. Draws from
// libtorch's generator of x's device.
class Dropout : public Layer {
 public:
  Dropout(const Making& making, double probability) : Layer(making), probability_(probability) {}

  at::Tensor forward(const at::Tensor& x) const;

 private:
  double probability_;
};

at::Tensor activated(const at::Tensor& x, Activation activation);

// torch.nn's initial values for the weights of Linear and convolutions.
void init_like_torch(at::Tensor& weight, at::Tensor& bias);

}  // namespace kedge::nn
