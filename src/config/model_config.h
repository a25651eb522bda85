// The model section: which network, from which weights, with which layers frozen.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"

namespace kedge::config {

enum class Stem : std::uint8_t { Auto, Imagenet, Cifar };

constexpr std::array<std::string_view, 3> enum_names(Stem) {
  return {"auto", "imagenet", "cifar"};
}

// Low-rank adapters (Hu et al. 2021): W x + scale B A x, of which only A and B are trained.
struct LoraConfig {
  std::int64_t rank = 0;
  double alpha = 0;
  double dropout = 0;
  std::vector<std::string> targets = {};
  bool rslora = false;
  std::string adapter = "";

  void describe(Section& s) {
    s.every_field(InHash::UnlessDefault, Fixed{"the saved weights belong to other adapters"});
    s.field("rank", rank,
            "train low-rank adapters of this rank beside the model's weights, which stay as they "
            "are; 0: train the weights",
            at_least(0));
    s.field("alpha", alpha, "the adapters' part is scaled by alpha / rank; 0: twice the rank",
            at_least(0));
    s.field("dropout", dropout, "dropout before the adapters", between(0, 1), kMayChange);
    s.field("targets", targets,
            "which linear layers get one: last part of their names (q_proj), or patterns (* and ?) "
            "of whole names; empty: all but the head");
    s.field("rslora", rslora, "scale by alpha / sqrt(rank) instead (Kalajdzievski 2023)");
    s.field("adapter", adapter,
            "start from the adapters in this folder of PEFT's (adapter_config.json), with their "
            "rank, alpha and targets",
            kMayChange);  // only a new run reads them
  }

  bool is_on() const { return rank > 0 || !adapter.empty(); }
};

enum class Quantize : std::uint8_t { None, Nf4, Int8, Fp8 };

constexpr std::array<std::string_view, 4> enum_names(Quantize) {
  return {"none", "nf4", "int8", "fp8"};
}

struct ModelConfig {
  std::string name = "simplecnn";
  std::string file = "";
  std::string weights = "";
  bool finetune = false;
  std::vector<std::string> freeze = {};
  std::int64_t classes = 0;
  Stem stem = Stem::Auto;
  bool batch_norm = true;
  std::optional<double> dropout = {};
  std::vector<std::int64_t> hidden = {512, 256};
  std::optional<std::int64_t> layers = {};
  std::optional<std::int64_t> heads = {};
  std::optional<std::int64_t> width = {};
  std::optional<std::int64_t> kv_heads = {};
  std::optional<std::int64_t> ffn = {};
  std::optional<std::int64_t> experts = {};
  std::optional<std::int64_t> experts_per_token = {};
  std::optional<std::int64_t> patch = {};
  std::optional<std::int64_t> vocab = {};
  Quantize quantize = Quantize::None;
  bool double_quant = true;
  LoraConfig lora = {};

  void describe(Section& s) {
    s.every_field(Fixed{"the saved weights belong to another model"});
    s.field("name", name, "which network: `kedge list models`", Alias{"model_name"});
    s.field("file", file,
            "a model to train instead of a named one: a folder of Hugging Face's (config.json, "
            "safetensors), a .gguf file, or a TorchScript file (torch.jit.save)");
    s.field(
        "weights", weights,
        "start from these weights: .safetensors, .gguf, .pt/.pth state dict, a folder of Hugging "
        "Face's, or a kedge checkpoint",
        kMayChange);  // only a new run reads them
    s.field("finetune", finetune, "train only the new head on top of `weights`", Alias{"finetune"});
    s.field("freeze", freeze, "parameter name patterns (* and ?) that are not trained");
    s.field("classes", classes, "outputs of the head; 0: as many as the data has", at_least(0),
            Alias{"num_classes"});
    s.field("stem", stem,
            "ResNets' first layers: imagenet (7x7/2 + pool) or cifar (3x3/1); auto: cifar for "
            "images up to 64 pixels");
    s.field("batch_norm", batch_norm, "simplecnn: with BatchNorm after each convolution");
    s.field("dropout", dropout, "dropout probability; empty: the model's own", between(0, 1),
            kMayChange);
    s.field("hidden", hidden, "mlp: widths of the hidden layers");
    s.field("layers", layers, "transformers: number of blocks; empty: the model's own",
            at_least(1));
    s.field("heads", heads, "transformers: attention heads; empty: the model's own", at_least(1));
    s.field("width", width, "transformers: embedding width; empty: the model's own", at_least(1));
    s.field("kv_heads", kv_heads,
            "llama: heads of keys and values, each for several heads; empty: the model's own",
            at_least(1), InHash::UnlessDefault);
    s.field("ffn", ffn, "llama: inner width of an MLP; empty: the model's own", at_least(1),
            InHash::UnlessDefault);
    s.field("experts", experts,
            "moe-mini: experts in the place of each block's MLP; empty: the model's own",
            at_least(1), InHash::UnlessDefault);
    s.field("experts_per_token", experts_per_token,
            "moe-mini: how many of them each token passes; empty: the model's own", at_least(1),
            InHash::UnlessDefault);
    s.field("patch", patch, "vit: patch side in pixels; empty: the model's own", at_least(1));
    s.field("vocab", vocab, "language models: vocabulary size; empty: as many as the data has",
            at_least(2));
    s.field("quantize", quantize,
            "keep the weights of the linear layers but lm_head in few bits: nf4 (4.1 bits, as "
            "bitsandbytes), int8 or fp8 (e4m3), both with a scale for each row. Trained beside "
            "them: model.lora",
            InHash::UnlessDefault, Fixed{"the adapters were trained on weights kept otherwise"});
    s.field("double_quant", double_quant,
            "nf4: the scale of each 64 values is kept in 8 bits too, instead of 32",
            InHash::UnlessDefault, Fixed{"the adapters were trained on weights kept otherwise"});
    s.section("lora", lora);
  }
};

}  // namespace kedge::config
