#include "nn/model.h"

#include <fmt/format.h>

#include "nn/converter.h"
#include "nn/internal/bert.h"
#include "nn/internal/llama.h"
#include "nn/internal/network.h"
#include "nn/internal/shape.h"
#include "nn/internal/weight_names.h"
#include "nn/pretrained.h"
#include "nn/script_model.h"

namespace kedge::nn {
namespace {

Result<void> require_context(const Path& path, const Signature& signature, std::int64_t most) {
  if (signature.context > most) {
    return fail(ErrorKind::Usage,
                fmt::format("samples have {} tokens, but {} was made for at most {}",
                            signature.context, path.string(), most),
                "lower data.context");
  }
  return {};
}

Result<std::unique_ptr<Model>> make_pretrained(const config::ModelConfig& config,
                                               const Signature& signature, const Making& making) {
  const Path path = config.file;
  const PretrainedShape shape = KEDGE_TRY(read_pretrained(path));
  if (const auto* llama = std::get_if<LlamaShape>(&shape)) {
    KEDGE_TRY(require_tokens(path.string(), signature));
    KEDGE_TRY(require_context(path, signature, llama->context));
    return make_llama(*llama, making);
  }
  auto bert = std::get<BertShape>(shape);
  KEDGE_TRY(require_text_classes(path.string(), signature));
  KEDGE_TRY(require_context(path, signature, bert.context));
  bert.dropout = config.dropout.value_or(bert.dropout);
  bert.attention_dropout = config.dropout.value_or(bert.attention_dropout);
  return make_bert(bert, signature.classes, making);
}

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
                                          const Signature& signature, const Making& given) {
  Making making = given;
  // Frozen weights are not added up over steps: the low precision that they are used in is enough.
  if (config.lora.is_on() && making.context->precision == config::Precision::Bf16) {
    making.type = at::kBFloat16;
  }
  making.has_linear_memory = config.quantize == config::Quantize::None;
  if (!config.file.empty() && !is_pretrained(config.file)) {
    if (!making.has_linear_memory) {
      return fail(ErrorKind::Usage,
                  fmt::format("model.quantize: {} is TorchScript, whose layers are not kedge's",
                              config.file),
                  "leave model.quantize out");
    }
    return load_script_model(config.file, signature);
  }
  auto model =
      KEDGE_TRY(config.file.empty() ? Models::make("model", config.name, config, signature, making)
                                    : make_pretrained(config, signature, making));
  KEDGE_TRY(convert_layers(config, *model));
  return model;
}

at::Tensor sum_of(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() && b.defined() ? a + b : a.defined() ? a : b;
}

std::vector<Block> Model::blocks() {
  return {{.name = "model",
           .parameters = parameters(),
           .forward = [this](const Flow& flow) -> Flow { return {forward({flow.x})}; }}};
}

const WeightNames& Model::names() const {
  static const WeightNames none;
  return none;
}

std::optional<HuggingFaceLayout> Model::hugging_face_layout(std::string_view /*dtype*/) const {
  return std::nullopt;
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
