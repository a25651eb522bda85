// A frozen matrix in few bits (model.quantize), in the place of a linear layer's weight.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/model_config.h"
#include "device/fused_ops.h"

namespace kedge::nn {

class Model;

class QuantizedWeight {
 public:
  virtual ~QuantizedWeight() = default;

  // Keeps the values [rows, columns], of any float type and from any device.
  virtual void store(const at::Tensor& values) = 0;

  // What is kept.
  virtual at::Tensor unpack(at::ScalarType type) const = 0;

  // x W^T, not differentiable.
  virtual at::Tensor multiply(const at::Tensor& x) const;

  // For kernels that unpack it themselves; nothing: there are none.
  virtual std::optional<device::Nf4Matrix> nf4() const { return std::nullopt; }

  virtual std::optional<device::Int8Matrix> int8() const { return std::nullopt; }

  // x W^T + bias in autocast's type, or x's. Of W only the bits are kept for the backward pass,
  // and the object must outlive it.
  at::Tensor product(const at::Tensor& x, const at::Tensor& bias) const;

  void allocate(at::Device device);
  void to(at::Device device);
  at::Device device();
  std::uint64_t size_bytes();

 protected:
  // What it is kept in.
  virtual std::vector<at::Tensor*> tensors() = 0;
};

// Without values yet; on the meta device without memory. `quantize` is not None.
std::unique_ptr<QuantizedWeight> make_quantized_weight(const config::ModelConfig& config,
                                                       at::IntArrayRef sizes, at::Device device);

// Those of a model, by the names of the parameters whose place they take.
std::map<std::string, QuantizedWeight*> quantized_weights(Model& model);

// Random values for them, in a network that is read from no file.
void fill_quantized(Model& model);

}  // namespace kedge::nn
