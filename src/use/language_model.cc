#include "use/language_model.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>

#include "checkpoint/gguf.h"
#include "config/load.h"
#include "data/tokenizer/gguf_tokenizer.h"
#include "device/device.h"
#include "device/plugin.h"
#include "nn/lora.h"
#include "nn/pretrained.h"
#include "nn/weights.h"
#include "train/preparation.h"
#include "train/saved_model.h"
#include "use/internal/recomputing_decoder.h"

namespace kedge::use {
namespace {

using nlohmann::json;

constexpr std::int64_t kByteVocab = 256;  // of models that were trained on plain text

Result<json> read_json(const Path& path) {
  const std::string text = KEDGE_TRY(read_file(path));
  json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    return fail(ErrorKind::Corrupt, fmt::format("{} is not a JSON object", path.string()));
  }
  return Result<json>(std::in_place, std::move(object));
}

void add_end_id(LanguageModel& model, std::int64_t id) {
  if (std::ranges::count(model.end_ids, id) == 0) {
    model.end_ids.push_back(id);
  }
}

// What generation_config.json adds to config.json.
Result<void> read_end_ids(const Path& folder, LanguageModel& model) {
  std::error_code ignored;
  if (std::filesystem::exists(folder / "generation_config.json", ignored)) {
    const json generation = KEDGE_TRY(read_json(folder / "generation_config.json"));
    const json end = generation.value("eos_token_id", json());
    for (const json& id : end.is_array() ? end : json::array({end})) {
      if (id.is_number_integer()) {
        add_end_id(model, id.get<std::int64_t>());
      }
    }
  }
  return {};
}

Result<data::Tokenizer> load_gguf_tokenizer(const Path& path) {
  const auto file = KEDGE_TRY(checkpoint::open_gguf(path));
  return data::Tokenizer::parse(
      KEDGE_TRY(data::tokenizer_json_of_gguf(file->facts(), path.string())));
}

// The files beside the weights of a pretrained model.
Result<void> read_companions(const Path& path, LanguageModel& model) {
  const auto shape = KEDGE_TRY(nn::read_pretrained_shape(path));
  for (const std::int64_t id : shape.end_ids) {
    add_end_id(model, id);
  }
  const bool is_folder = std::filesystem::is_directory(path);
  if (is_folder) {
    KEDGE_TRY(read_end_ids(path, model));
  }
  if (!model.tokenizer && (!is_folder || std::filesystem::exists(path / "tokenizer.json"))) {
    model.tokenizer =
        KEDGE_TRY(is_folder ? data::Tokenizer::load(path) : load_gguf_tokenizer(path));
    model.texts = path;
  }
  return {};
}

// On a GPU in bfloat16, weights too, unless the user says otherwise.
config::TrainConfig train_config(const config::LoadedConfig& config) {
  config::TrainConfig train = config->train;
  const config::Field* precision = config.find("train.precision");
  const bool is_chosen = precision->layer == config::Layer::CommandLine;
  const bool has_gpu = train.device != config::DeviceChoice::Cpu && device::has_torch_cuda();
  if (!is_chosen) {
    train.precision = has_gpu ? config::Precision::Bf16Pure : config::Precision::Fp32;
  }
  return train;
}

// Threads, kernels and the like, as the user wants them.
void apply_settings(const config::LoadedConfig& config) {
  config::Config settings = *config;
  // Texts have all lengths, and a mask: cuDNN would plan anew for each, and flash takes no mask.
  if (settings.train.attention == config::AttentionKernel::Auto) {
    settings.train.attention = config::AttentionKernel::Efficient;
  }
  train::apply_compute_settings(settings);
}

Result<void> open_pretrained(const LanguageModelOptions& options, LanguageModel& model) {
  const auto config = KEDGE_TRY(config::load_config({.overrides = options.overrides}));
  apply_settings(config);
  model.context =
      std::make_shared<const device::Context>(KEDGE_TRY(train::make_context(train_config(config))));
  const auto shape = KEDGE_TRY(nn::read_pretrained_shape(options.model));
  model.vocab = shape.vocab;
  config::ModelConfig chosen;
  chosen.file = options.model.string();
  chosen.lora.adapter = options.adapter.string();
  chosen.quantize = config->model.quantize;
  chosen.double_quant = config->model.double_quant;
  model.model = KEDGE_TRY(nn::make_model(chosen, {.context = shape.context, .vocab = shape.vocab},
                                         {.context = model.context, .has_memory = false}));
  model.model->allocate(model.context->device);
  KEDGE_TRY(nn::load_weights(*model.model, options.model));
  if (!options.adapter.empty()) {
    KEDGE_TRY(nn::load_adapter(*model.model, options.adapter));
    nn::merge_adapters(*model.model);
  }
  return read_companions(options.model, model);
}

Result<void> open_trained(const LanguageModelOptions& options, LanguageModel& model) {
  if (!options.adapter.empty()) {
    return fail(ErrorKind::Usage, "--adapter goes with a folder of Hugging Face's or a .gguf file",
                "a run has its own adapters");
  }
  train::SavedModel saved = KEDGE_TRY(train::load_saved_model(options.model, options.overrides));
  apply_settings(saved.config);
  const nn::Signature& signature = saved.preparation.signature;
  if (!signature.takes_tokens() || signature.classes > 0) {
    return fail(ErrorKind::Usage,
                fmt::format("{} is no language model: it was trained for {}", saved.path.string(),
                            saved.preparation.task_name),
                "kedge predict uses it");
  }
  model.context = std::make_shared<const device::Context>(
      KEDGE_TRY(train::make_context(train_config(saved.config))));
  model.path = saved.path;
  model.vocab = signature.vocab;
  model.model = std::move(saved.model);
  nn::merge_adapters(*model.model);
  model.model->to(model.context->device);
  if (model.context->precision == config::Precision::Bf16Pure) {
    model.model->to(at::kBFloat16);
  }
  model.recomputing = std::make_unique<RecomputingDecoder>(*model.model, signature.context);
  const std::string& base = saved.config->model.file;
  return !base.empty() && nn::is_pretrained(base) ? read_companions(base, model) : Result<void>();
}

}  // namespace

Result<LanguageModel> open_language_model(const LanguageModelOptions& options) {
  LanguageModel model;
  model.path = options.model;
  if (!options.tokenizer.empty()) {
    model.tokenizer = KEDGE_TRY(data::Tokenizer::load(options.tokenizer));
    model.texts = options.tokenizer;
  }
  KEDGE_TRY(nn::is_pretrained(options.model) ? open_pretrained(options, model)
                                             : open_trained(options, model));
  model.model->set_training(false);
  model.decoder = dynamic_cast<nn::Decoder*>(model.model.get());
  if (model.decoder == nullptr) {
    model.decoder = model.recomputing.get();
  }
  if (!model.tokenizer && model.vocab > kByteVocab) {
    return fail(ErrorKind::Usage,
                fmt::format("{} has {} tokens, but no tokenizer is with it", options.model.string(),
                            model.vocab),
                "name its tokenizer.json with --tokenizer");
  }
  if (model.tokenizer) {
    if (model.tokenizer->vocab() > model.vocab) {
      return fail(ErrorKind::Usage,
                  fmt::format("the tokenizer has {} tokens, the model scores for {}",
                              model.tokenizer->vocab(), model.vocab),
                  "is it another model's?");
    }
    if (const auto end = model.tokenizer->find_end_of_text(); end && model.end_ids.empty()) {
      add_end_id(model, *end);
    }
  }
  return model;
}

Result<std::vector<std::int64_t>> encode_text(const LanguageModel& model, std::string_view text,
                                              bool special_tokens, bool add_around) {
  std::vector<std::int64_t> ids;
  if (!model.tokenizer) {
    for (const char c : text) {
      ids.push_back(static_cast<unsigned char>(c));
    }
    return ids;
  }
  const auto encode = [&](std::string_view part, bool around) {
    data::TokenEncoder encoder(*model.tokenizer,
                               {.special_tokens = special_tokens, .add_around = around});
    std::vector<data::TokenId> encoded;
    encoder.encode(part, encoded);
    return encoded;
  };
  const auto encoded = encode(text, add_around);
  ids.assign(encoded.begin(), encoded.end());
  const auto around = add_around ? encode("", true) : std::vector<data::TokenId>();
  if (!around.empty() && ids.size() > 1 && ids[0] == around[0] && ids[1] == around[0]) {
    ids.erase(ids.begin());
  }
  return ids;
}

}  // namespace kedge::use
