#include "nn/lora.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/nn/init.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "checkpoint/tensor_file.h"
#include "nn/converter.h"
#include "nn/internal/network.h"
#include "nn/internal/shape.h"
#include "nn/internal/weight_names.h"
#include "nn/tensor_view.h"

namespace kedge::nn {
namespace {

constexpr std::string_view kPeftPrefix = "base_model.model.";
constexpr const char* kAdapterConfig = "adapter_config.json";
constexpr const char* kAdapterFile = "adapter_model.safetensors";

at::TensorOptions adapter_options(const Making& making) {
  // Trained, so not in the low precision that the frozen weights beside them may have.
  const at::ScalarType type = making.type == at::kDouble ? at::kDouble : at::kFloat;
  return at::TensorOptions(type).device(making.has_memory ? making.device : at::Device(at::kMeta));
}

class Lora : public Converter {
 public:
  explicit Lora(config::LoraConfig config) : config_(std::move(config)) {}

  std::shared_ptr<Linear> convert(const std::string& name,
                                  const std::shared_ptr<Linear>& linear) override {
    if (!is_target(name)) {
      return linear;
    }
    return std::make_shared<LoraLinear>(*linear, LoraLinear::Shape{.rank = config_.rank,
                                                                   .scale = lora_scale(config_),
                                                                   .dropout = config_.dropout});
  }

 private:
  bool is_target(const std::string& name) const {
    if (config_.targets.empty()) {
      return name != "lm_head";
    }
    return std::ranges::any_of(config_.targets, [&](const std::string& target) {
      return name == target || name.ends_with("." + target) || matches_pattern(target, name);
    });
  }

  config::LoraConfig config_;
};

const Converters::Add kAddLora(
    {"lora", "low-rank adapters: model.lora",
     [](const config::ModelConfig& config) -> Result<std::unique_ptr<Converter>> {
       if (!config.lora.is_on()) {
         return nullptr;
       }
       return std::make_unique<Lora>(KEDGE_TRY(complete_lora(config.lora)));
     }});

// Each LoraLinear of the model, with its name.
std::vector<std::pair<std::string, LoraLinear*>> adapters_of(Model& model) {
  std::vector<std::pair<std::string, LoraLinear*>> adapters;
  if (auto* network = dynamic_cast<Network*>(&model)) {
    network->each_layer([&](const std::string& name, Layer& layer) {
      if (auto* adapter = dynamic_cast<LoraLinear*>(&layer)) {
        adapters.emplace_back(name, adapter);
      }
    });
  }
  return adapters;
}

Result<nlohmann::json> read_adapter_config(const Path& folder) {
  const Path path = folder / kAdapterConfig;
  const std::string text = KEDGE_TRY(read_file(path));
  nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return fail(ErrorKind::Corrupt, fmt::format("{} is not a JSON object", path.string()));
  }
  return Result<nlohmann::json>(std::in_place, std::move(json));
}

// Switches of PEFT's that change what adapters compute, each off.
Result<void> refuse_variants(const nlohmann::json& json, const Path& path) {
  for (const char* key : {"use_dora", "fan_in_fan_out", "alora_invocation_tokens", "rank_pattern",
                          "alpha_pattern", "modules_to_save", "layers_to_transform", "lora_bias",
                          "target_parameters", "trainable_token_indices", "use_qalora"}) {
    const auto found = json.find(key);
    if (found != json.end() && !found->is_null() && *found != false && !found->empty()) {
      return fail(ErrorKind::Usage, fmt::format("{}: '{}' is {}, which kedge does not know",
                                                path.string(), key, found->dump()));
    }
  }
  if (json.value("peft_type", "") != "LORA" || json.value("bias", "none") != "none") {
    return fail(ErrorKind::Usage,
                fmt::format("{} is not of plain LoRA adapters without biases", path.string()));
  }
  return {};
}

}  // namespace

LoraLinear::LoraLinear(const Linear& base, const Shape& shape)
    : Linear(base.making(), base), shape_(shape) {
  weight.requires_grad_(false);
  if (bias.defined()) {
    bias.requires_grad_(false);
  }
  const at::TensorOptions options = adapter_options(base.making());
  add_parameter("lora_A.weight", a_, torch::empty({shape.rank, weight.size(1)}, options));
  add_parameter("lora_B.weight", b_, torch::zeros({weight.size(0), shape.rank}, options));
  torch::nn::init::kaiming_uniform_(a_, std::sqrt(5.0));
}

at::Tensor LoraLinear::adapted(const at::Tensor& x) const {
  const at::Tensor kept = torch::dropout(x, shape_.dropout, is_training()).to(a_.scalar_type());
  return torch::linear(torch::linear(kept, a_), b_) * shape_.scale;
}

std::optional<device::Adapter> LoraLinear::adapter() const {
  if (shape_.dropout > 0 && is_training()) {
    return std::nullopt;
  }
  return device::Adapter{.a = a_, .b = b_, .scale = shape_.scale};
}

at::Tensor LoraLinear::forward(const at::Tensor& x, Activation activation) {
  const std::vector<at::Tensor> parts = forward_fused({this}, x);
  if (!parts.empty()) {
    return activated(parts.front(), activation);
  }
  const at::Tensor y = product(x);
  return activated(y + adapted(x).to(y.scalar_type()), activation);
}

std::vector<at::Tensor> LoraLinear::forward_thirds(const at::Tensor& x) {
  return forward(x).chunk(3, -1);
}

at::Tensor LoraLinear::difference() const {
  return b_.detach().to(at::kFloat).mm(a_.detach().to(at::kFloat)) * shape_.scale;
}

bool is_adapter_name(std::string_view name) {
  return name.ends_with(".lora_A.weight") || name.ends_with(".lora_B.weight");
}

double lora_scale(const config::LoraConfig& config) {
  const auto rank = static_cast<double>(config.rank);
  const double alpha = config.alpha > 0 ? config.alpha : 2 * rank;
  return alpha / (config.rslora ? std::sqrt(rank) : rank);
}

Result<config::LoraConfig> complete_lora(const config::LoraConfig& config) {
  if (config.adapter.empty()) {
    return config;
  }
  const Path path = Path(config.adapter) / kAdapterConfig;
  const nlohmann::json json = KEDGE_TRY(read_adapter_config(config.adapter));
  KEDGE_TRY(refuse_variants(json, path));
  config::LoraConfig complete = config;
  try {
    complete.rank = json.at("r").get<std::int64_t>();
    complete.alpha = json.at("lora_alpha").get<double>();
    complete.rslora = json.value("use_rslora", false);
    const nlohmann::json& targets = json.at("target_modules");
    if (!targets.is_string()) {
      complete.targets = targets.get<std::vector<std::string>>();
    } else if (targets != "all-linear") {
      return fail(ErrorKind::Usage,
                  fmt::format("{}: target_modules is a regular expression", path.string()),
                  "list the modules' names instead");
    }
  } catch (const nlohmann::json::exception&) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{} lacks r, lora_alpha or target_modules", path.string()));
  }
  if (config.rank > 0 && config.rank != complete.rank) {
    return fail(ErrorKind::Usage,
                fmt::format("model.lora.rank is {}, but the adapters in {} are of rank {}",
                            config.rank, config.adapter, complete.rank),
                "leave model.lora.rank out");
  }
  return complete;
}

Result<void> write_adapter(const Model& model, const config::LoraConfig& config,
                           const std::string& base, const Path& folder) {
  std::vector<at::Tensor> kept;
  std::vector<checkpoint::TensorView> views;
  std::set<std::string> targets;
  for (const auto& [name, tensor] : model.parameters()) {
    if (is_adapter_name(name)) {
      kept.push_back(tensor.detach().to(at::kCPU).contiguous());
      views.push_back(to_view(std::string(kPeftPrefix) + name, kept.back()));
      const std::string layer = name.substr(0, name.rfind(".lora_"));
      targets.insert(layer.substr(layer.rfind('.') + 1));
    }
  }
  if (views.empty()) {
    return fail(ErrorKind::Usage, "the model has no adapters", "train with model.lora.rank=16");
  }
  const nlohmann::json json = {
      {"peft_type", "LORA"},
      {"task_type", "CAUSAL_LM"},
      {"base_model_name_or_path", base},
      {"r", config.rank},
      {"lora_alpha",
       lora_scale(config) * (config.rslora ? std::sqrt(double(config.rank)) : double(config.rank))},
      {"lora_dropout", config.dropout},
      {"use_rslora", config.rslora},
      {"target_modules", targets},
      {"bias", "none"},
      {"fan_in_fan_out", false},
      {"inference_mode", true}};
  KEDGE_TRY(make_dirs(folder));
  KEDGE_TRY(checkpoint::write_safetensors(folder / kAdapterFile, views, {{"format", "pt"}}));
  return write_file_atomic(folder / kAdapterConfig, json.dump(2) + "\n");
}

Result<void> load_adapter(Model& model, const Path& folder) {
  const auto file = KEDGE_TRY(checkpoint::open_safetensors(folder / kAdapterFile));
  std::map<std::string_view, const checkpoint::TensorView*> views;
  for (const checkpoint::TensorView& view : file->tensors()) {
    const std::string_view name = view.name;
    views.emplace(name.starts_with(kPeftPrefix) ? name.substr(kPeftPrefix.size()) : name, &view);
  }
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;
  for (const auto& [name, tensor] : model.parameters()) {
    if (!is_adapter_name(name)) {
      continue;
    }
    const auto found = views.find(name);
    if (found == views.end()) {
      return fail(ErrorKind::Usage,
                  fmt::format("{} has no '{}'", (folder / kAdapterFile).string(), name),
                  "are the adapters of another model?");
    }
    at::Tensor source = to_tensor(*found->second);
    if (source.sizes() != tensor.sizes()) {
      return fail(ErrorKind::Usage,
                  fmt::format("{}: '{}' is {}, the model's is {}", folder.string(), name,
                              shape_text(source.sizes()), shape_text(tensor.sizes())));
    }
    copies.emplace_back(tensor, std::move(source));
    views.erase(found);
  }
  if (!views.empty()) {
    return fail(ErrorKind::Usage,
                fmt::format("{} has '{}', for which the model has no adapter", folder.string(),
                            views.begin()->first),
                "are the adapters of another model?");
  }
  const torch::NoGradGuard no_grad;
  for (auto& [target, source] : copies) {
    target.copy_(source);
  }
  return {};
}

at::Tensor without_adapters(Model& model, const std::function<at::Tensor()>& compute) {
  const torch::NoGradGuard no_grad;
  std::vector<std::pair<at::Tensor, at::Tensor>> kept;
  for (const auto& [name, tensor] : model.parameters()) {
    if (name.ends_with(".lora_B.weight")) {
      kept.emplace_back(tensor, tensor.detach().clone());
      tensor.detach().zero_();
    }
  }
  at::Tensor result = compute();
  for (const auto& [tensor, value] : kept) {
    tensor.detach().copy_(value);
  }
  return result;
}

std::int64_t merge_adapters(Model& model) {
  const torch::NoGradGuard no_grad;
  std::int64_t changed = 0;
  for (const auto& [name, adapter] : adapters_of(model)) {
    if (adapter->packed != nullptr) {
      continue;
    }
    const at::Tensor before = adapter->weight.detach();
    const at::Tensor merged = (before.to(at::kFloat) + adapter->difference().to(before.device()))
                                  .to(before.scalar_type());
    changed += at::equal(merged, before) ? 0 : 1;
    adapter->weight.detach().copy_(merged);
  }
  if (auto* network = dynamic_cast<Network*>(&model)) {
    network->convert_linears([](const std::string&, const std::shared_ptr<Linear>& linear) {
      return dynamic_cast<LoraLinear*>(linear.get()) == nullptr || linear->packed != nullptr
                 ? linear
                 : std::make_shared<Linear>(linear->making(), *linear);
    });
  }
  return changed;
}

}  // namespace kedge::nn
