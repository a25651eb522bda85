// Low-rank adapters (LoRA, Hu et al. 2021) beside a model's linear layers, with the names, the
// scale and the files of PEFT.
#pragma once

#include <functional>
#include <string_view>

#include "config/model_config.h"
#include "core/file.h"
#include "core/result.h"
#include "nn/layers.h"
#include "nn/model.h"

namespace kedge::nn {

// scale * B (A dropout(x)) is added to what the layer gives. Its own weight is frozen.
class LoraLinear : public Linear {
 public:
  struct Shape {
    std::int64_t rank = 0;
    double scale = 1;
    double dropout = 0;
  };

  LoraLinear(const Linear& base, const Shape& shape);

  at::Tensor forward(const at::Tensor& x, Activation activation = Activation::None) override;
  std::vector<at::Tensor> forward_thirds(const at::Tensor& x) override;
  std::optional<device::Adapter> adapter() const override;

  // What the adapter adds to the weight, in float32: [out, in].
  at::Tensor difference() const;

 private:
  at::Tensor adapted(const at::Tensor& x) const;

  Shape shape_;
  at::Tensor a_;  // [rank, in]
  at::Tensor b_;  // [out, rank]; zeros at first, so that the model begins as it was
};

// Whether the name is that of an adapter's tensor: files of the model itself lack it.
bool is_adapter_name(std::string_view name);

double lora_scale(const config::LoraConfig& config);

// With config.adapter, what its adapter_config.json says of rank, alpha and targets. Usage: it is
// no LoRA, or asks for something that is not known here (DoRA, ranks by pattern, ...).
Result<config::LoraConfig> complete_lora(const config::LoraConfig& config);

// A folder as PEFT writes and reads it: adapter_model.safetensors, adapter_config.json. `base`
// names what the adapters belong to.
Result<void> write_adapter(const Model& model, const config::LoraConfig& config,
                           const std::string& base, const Path& folder);

// The tensors of such a folder into the adapters of the model, all or none.
Result<void> load_adapter(Model& model, const Path& folder);

// What `compute` gives while no adapter adds anything. Without gradients.
at::Tensor without_adapters(Model& model, const std::function<at::Tensor()>& compute);

// Adds each adapter to its weight and takes it away. Returns how many changed something. Those of
// quantized weights stay: few bits would lose what they add.
std::int64_t merge_adapters(Model& model);

}  // namespace kedge::nn
