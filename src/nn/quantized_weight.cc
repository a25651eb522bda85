#include "nn/quantized_weight.h"

#include <numeric>
#include <utility>

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "nn/internal/head_types.h"
#include "nn/internal/network.h"
#include "nn/internal/nf4.h"
#include "nn/internal/row_codes.h"

namespace kedge::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kRandomStd = 0.02;

class QuantizedProduct : public torch::autograd::Function<QuantizedProduct> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x,
                            const QuantizedWeight* weight) {
    ctx->saved_data["weight"] = reinterpret_cast<std::int64_t>(weight);
    return weight->multiply(x);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const auto* weight =
        reinterpret_cast<const QuantizedWeight*>(ctx->saved_data["weight"].toInt());
    return {gradients[0].matmul(weight->unpack(gradients[0].scalar_type())), {}};
  }
};

}  // namespace

at::Tensor QuantizedWeight::multiply(const at::Tensor& x) const {
  return x.matmul(unpack(x.scalar_type()).t());
}

at::Tensor QuantizedWeight::product(const at::Tensor& x, const at::Tensor& bias) const {
  const at::Tensor y = QuantizedProduct::apply(x.to(score_type(x)), this);
  return bias.defined() ? y + bias.to(y.scalar_type()) : y;
}

void QuantizedWeight::allocate(at::Device device) {
  for (at::Tensor* tensor : tensors()) {
    *tensor = at::empty_like(*tensor, at::TensorOptions(device));
  }
}

void QuantizedWeight::to(at::Device device) {
  for (at::Tensor* tensor : tensors()) {
    *tensor = tensor->to(device);
  }
}

at::Device QuantizedWeight::device() {
  return tensors().front()->device();
}

std::uint64_t QuantizedWeight::size_bytes() {
  const auto all = tensors();
  return std::accumulate(all.begin(), all.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const at::Tensor* t) { return sum + t->nbytes(); });
}

std::unique_ptr<QuantizedWeight> make_quantized_weight(const config::ModelConfig& config,
                                                       at::IntArrayRef sizes, at::Device device) {
  switch (config.quantize) {
    case config::Quantize::Nf4:
      return std::make_unique<Nf4Weight>(sizes, device, config.double_quant);
    case config::Quantize::Int8:
      return std::make_unique<Int8Weight>(sizes, device);
    case config::Quantize::Fp8:
      return std::make_unique<Fp8Weight>(sizes, device);
    case config::Quantize::None:
      break;
  }
  return nullptr;
}

void fill_quantized(Model& model) {
  const auto packed = quantized_weights(model);
  for (const auto& [name, tensor] : model.parameters()) {
    if (const auto found = packed.find(name); found != packed.end()) {
      found->second->store(torch::randn(tensor.sizes(), found->second->device()) * kRandomStd);
    }
  }
}

std::map<std::string, QuantizedWeight*> quantized_weights(Model& model) {
  std::map<std::string, QuantizedWeight*> all;
  if (auto* network = dynamic_cast<Network*>(&model)) {
    network->each_layer([&](const std::string& name, Layer& layer) {
      if (auto* linear = dynamic_cast<Linear*>(&layer); linear != nullptr && linear->packed) {
        all.emplace(name + ".weight", linear->packed.get());
      }
    });
  }
  return all;
}

}  // namespace kedge::nn
