#include "nn/model.h"

#include "nn/converter.h"
#include "nn/internal/network.h"
#include "nn/internal/weight_names.h"
#include "nn/script_model.h"

namespace kedge::nn {
namespace {

Result<void> convert_layers(const config::ModelConfig& config, Model& model) {
  auto* network = dynamic_cast<Network*>(&model);
  for (const auto& [name, entry] : Converters::all()) {
    const auto converter = KEDGE_TRY(entry.make(config));
    if (converter != nullptr && network != nullptr) {
      network->convert_linears(
          [&](const std::string& layer, const std::shared_ptr<Linear>& linear) {
            return converter->convert(layer, linear);
          });
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Model>> make_model(const config::ModelConfig& config,
                                          const Signature& signature, const Making& making) {
  if (!config.file.empty()) {
    return load_script_model(config.file, signature);
  }
  auto model = KEDGE_TRY(Models::make("model", config.name, config, signature, making));
  KEDGE_TRY(convert_layers(config, *model));
  return model;
}

std::vector<Block> Model::blocks() {
  return {{.name = "model",
           .parameters = parameters(),
           .forward = [this](const Flow& flow) -> Flow { return {forward(flow.x)}; }}};
}

const WeightNames& Model::names() const {
  static const WeightNames none;
  return none;
}

bool WeightNames::is_table(std::string_view name) const {
  return matches_any(tables, name);
}

std::int64_t count_parameters(const Model& model) {
  std::int64_t count = 0;
  for (const auto& [name, tensor] : model.parameters()) {
    count += tensor.numel();
  }
  return count;
}

NamedTensors trainable_parameters(const Model& model) {
  NamedTensors trainable = model.parameters();
  std::erase_if(trainable, [](const auto& named) { return !named.second.requires_grad(); });
  return trainable;
}

std::set<std::string> frozen_names(const Model& model) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : model.parameters()) {
    if (!tensor.requires_grad()) {
      names.insert(name);
    }
  }
  return names;
}

}  // namespace kedge::nn
