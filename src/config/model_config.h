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
  std::optional<std::int64_t> patch = {};
  std::optional<std::int64_t> vocab = {};

  void describe(Section& s) {
    s.every_field(Fixed{"the saved weights belong to another model"});
    s.field("name", name, "which network: `kedge list models`", Alias{"model_name"});
    s.field("file", file, "a TorchScript file (torch.jit.save) to train instead of a named model");
    s.field("weights", weights,
            "start from these weights: .safetensors, .pt/.pth state dict, or a kedge checkpoint",
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
    s.field("patch", patch, "vit: patch side in pixels; empty: the model's own", at_least(1));
    s.field("vocab", vocab, "gpt: vocabulary size; empty: as many as the data has", at_least(2));
  }
};

}  // namespace kedge::config
