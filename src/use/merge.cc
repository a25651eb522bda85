#include "use/merge.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>
#include <torch/utils.h>

#include "checkpoint/tensor_file.h"
#include "config/load.h"
#include "core/log.h"
#include "data/chat/chat_format.h"
#include "device/device.h"
#include "device/plugin.h"
#include "nn/lora.h"
#include "nn/pretrained.h"
#include "nn/tensor_view.h"
#include "nn/weights.h"
#include "train/saved_model.h"
#include "train/torch_guard.h"
#include "use/internal/hugging_face_folder.h"

namespace kedge::use {
namespace {

using nlohmann::json;

constexpr std::int64_t kProbeTokens = 256;  // at most; of a text, or drawn where nothing reads it

constexpr const char* kProbe =
    "Question: Why does the sky look blue, and why is it red when the sun goes down?\n"
    "Answer: Light from the sun is scattered by the molecules of the air, blue light more than "
    "red. In the evening it comes a longer way, and most of the blue is gone.\n\n"
    "def greatest(values):\n    best = values[0]\n    for value in values[1:]:\n        if value > "
    "best:\n            best = value\n    return best\n\n"
    "Le chat dort sur le canap\u00e9 depuis 14 heures; 3 + 4 = 7.";

// The model with its adapters beside its weights, in float32: what is compared is what merging
// rounds, not how a product is computed.
struct Adapted {
  std::unique_ptr<nn::Model> model;
  std::int64_t vocab = 0;
  std::int64_t context = 0;
  Path base;
  at::ScalarType base_type = at::kFloat;  // of the base's weights
};

Result<at::ScalarType> type_of_weights(const Path& base) {
  const auto file = KEDGE_TRY(checkpoint::open_tensors(base));
  for (const checkpoint::TensorView& view : file->tensors()) {
    const at::ScalarType type = nn::scalar_type(view.type);
    if (view.shape.size() > 1 && at::isFloatingType(type)) {
      return type == at::kDouble ? at::kFloat : type;
    }
  }
  return at::kFloat;
}

// Into the original weights: few bits would lose what the adapters add.
Result<Adapted> open_run(const MergeOptions& options) {
  std::vector<std::string> overrides = {"model.quantize=none"};
  overrides.insert(overrides.end(), options.overrides.begin(), options.overrides.end());
  train::SavedModel saved = KEDGE_TRY(train::load_saved_model(options.model, overrides));
  if (saved.config->model.quantize != config::Quantize::None) {
    return fail(ErrorKind::Usage, "model.quantize: adapters are merged into whole weights",
                "leave it out");
  }
  const auto base = KEDGE_TRY(train::read_base(saved.state));
  if (!base) {
    return fail(ErrorKind::Usage,
                fmt::format("{} holds no adapters of weights that it names", saved.path.string()),
                "kedge export writes models that were trained whole");
  }
  return Adapted{.model = std::move(saved.model),
                 .vocab = saved.preparation.signature.vocab,
                 .context = saved.preparation.signature.context,
                 .base = base->path,
                 .base_type = KEDGE_TRY(type_of_weights(base->path))};
}

Result<Adapted> open_pair(const MergeOptions& options) {
  if (!nn::is_pretrained(options.model)) {
    return fail(
        ErrorKind::Usage,
        fmt::format("{} is no folder of Hugging Face's and no .gguf file", options.model.string()),
        "--adapter goes with the model that the adapters were trained on");
  }
  const auto shape = KEDGE_TRY(nn::read_pretrained_shape(options.model));
  config::ModelConfig config;
  config.file = options.model.string();
  config.lora.adapter = options.adapter.string();
  Adapted adapted{
      .model = KEDGE_TRY(nn::make_model(config, {.context = shape.context, .vocab = shape.vocab})),
      .vocab = shape.vocab,
      .context = shape.context,
      .base = options.model,
      .base_type = KEDGE_TRY(type_of_weights(options.model))};
  KEDGE_TRY(nn::load_weights(*adapted.model, options.model));
  KEDGE_TRY(nn::load_adapter(*adapted.model, options.adapter));
  return adapted;
}

// Token ids [1, T] that answers are compared on.
Result<at::Tensor> probe_tokens(const Adapted& adapted, const Path& probe) {
  const std::int64_t most = std::min(kProbeTokens, adapted.context);
  std::vector<std::int64_t> ids;
  const auto format = nn::is_pretrained(adapted.base)
                          ? data::load_chat_format(adapted.base)
                          : Result<data::ChatFormat>(fail(ErrorKind::NotFound, "no tokenizer"));
  if (format) {
    std::vector<data::TokenId> encoded;
    data::TokenEncoder encoder(format->tokenizer, {.special_tokens = true, .add_around = true});
    encoder.encode(probe.empty() ? std::string(kProbe) : KEDGE_TRY(read_file(probe)), encoded);
    ids.assign(encoded.begin(), encoded.end());
  } else if (!probe.empty()) {
    return fail(ErrorKind::Usage,
                fmt::format("--probe: no tokenizer is with {}", adapted.base.string()),
                "leave it out, and tokens are drawn at random");
  }
  if (ids.empty()) {
    const at::Generator generator = at::detail::createCPUGenerator(1);
    return torch::randint(adapted.vocab, {1, most}, generator, at::kLong);
  }
  ids.resize(std::min(ids.size(), static_cast<std::size_t>(most)));
  return torch::tensor(ids, at::kLong).unsqueeze(0);
}

// Log-probabilities [T, V] of what comes after each token.
at::Tensor answers(nn::Model& model, const at::Tensor& tokens) {
  return torch::log_softmax(model.forward(tokens).squeeze(0).to(at::kFloat), -1);
}

struct Difference {
  double divergence = 0;  // KL, mean over the tokens
  std::int64_t same_first = 0;
};

Difference compare(const at::Tensor& wanted, const at::Tensor& got) {
  const at::Tensor divergence = (wanted.exp() * (wanted - got)).sum(-1).mean();
  return {.divergence = std::max(0.0, divergence.item<double>()),
          .same_first = wanted.argmax(-1).eq(got.argmax(-1)).sum().item<std::int64_t>()};
}

struct Merged {
  std::int64_t adapters = 0;  // whose weight changed
  std::int64_t tokens = 0;
  Difference of_adapters;  // between the base and the adapted model
  Difference of_merging;   // between the adapted model and the one that is written
};

Result<Merged> merge(Adapted& adapted, const at::Tensor& tokens, at::ScalarType type) {
  const torch::NoGradGuard no_grad;
  nn::Model& model = *adapted.model;
  model.set_training(false);
  const at::Tensor before = answers(model, tokens);
  const at::Tensor base = nn::without_adapters(model, [&] { return answers(model, tokens); });
  Merged merged;
  merged.tokens = tokens.size(1);
  merged.of_adapters = compare(before, base);
  merged.adapters = nn::merge_adapters(model);
  model.to(type);
  model.to(at::kFloat);
  if (merged.adapters == 0) {
    return fail(ErrorKind::Usage, "merging changes no weight: every adapter's part is zero",
                "was the run trained, and is this its last checkpoint?");
  }
  const at::Tensor after = answers(model, tokens);
  merged.of_merging = compare(before, after);
  if (compare(base, after).divergence == 0 && merged.of_adapters.divergence > 0) {
    return fail(ErrorKind::Usage,
                fmt::format("merging changes nothing: the adapters' parts are lost when weights "
                            "are rounded to {}",
                            name_of_type(type)),
                "write the weights with --dtype fp32");
  }
  return merged;
}

void report_merge(const Adapted& adapted, const Merged& merged, const MergeOptions& options,
                  at::ScalarType type) {
  if (options.as_json) {
    fmt::print("{}\n", json{{"base", adapted.base.string()},
                            {"output", options.output.string()},
                            {"dtype", name_of_type(type)},
                            {"adapters", merged.adapters},
                            {"probe_tokens", merged.tokens},
                            {"kl_of_adapters", merged.of_adapters.divergence},
                            {"kl_of_merging", merged.of_merging.divergence},
                            {"same_first_token", merged.of_merging.same_first}}
                           .dump());
    return;
  }
  say("merged   {} adapters into the weights of {}", merged.adapters, adapted.base.string());
  say("probe    {} tokens: the adapters move the answers by KL {:.3g}, merging by {:.2g}; the "
      "likeliest token is the same {} times",
      merged.tokens, merged.of_adapters.divergence, merged.of_merging.divergence,
      merged.of_merging.same_first);
  say("wrote    {}, weights as {}", options.output.string(), name_of_type(type));
}

Result<void> merge_model(const MergeOptions& options) {
  Adapted adapted = KEDGE_TRY(options.adapter.empty() ? open_run(options) : open_pair(options));
  const at::ScalarType type =
      options.type.empty() ? adapted.base_type : KEDGE_TRY(parse_type(options.type));
  const at::Tensor tokens = KEDGE_TRY(probe_tokens(adapted, options.probe));
  const Merged merged = KEDGE_TRY(merge(adapted, tokens, type));
  KEDGE_TRY(
      write_hugging_face({.model = *adapted.model,
                          .type = type,
                          .original = nn::is_pretrained(adapted.base) ? adapted.base : Path()},
                         options.output));
  report_merge(adapted, merged, options, type);
  return {};
}

}  // namespace

Result<void> run_merge(const MergeOptions& options) {
  return train::catch_torch([&] { return merge_model(options); });
}

}  // namespace kedge::use
