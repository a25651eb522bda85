// A Model is a network by name: parameters, buffers and a forward pass. The room knows shapes
// and weights, never data sets, optimizers or the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/model_config.h"
#include "core/registry.h"
#include "core/result.h"
#include "nn/layers.h"
#include "nn/model_input.h"
#include "nn/signature.h"

namespace kedge::nn {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// What goes from one block of a model to the next: x + delta, where there is a delta. A block
// leaves what it adds last to the next one's normalisation, which does both in one kernel.
struct Flow {
  at::Tensor x;
  at::Tensor delta = {};
  // Of tokens in their texts, for models that rotate by them: int64 [T] or [B, T].
  at::Tensor positions = {};
  // Bool [B, 1, T, T], which tokens each may look at; undefined: itself and all before it.
  at::Tensor seen = {};
  // In training, how mixtures of experts were used so far: blocks add to it.
  at::Tensor load = {};
};

// a + b, where either may be undefined.
at::Tensor sum_of(const at::Tensor& a, const at::Tensor& b);

// A piece of a model that can be computed, kept, moved and recomputed by itself.
struct Block {
  std::string name;  // "h.3", "layer1.0", "stem"
  // Under the names that Model::parameters() has for them. One that several blocks use (a head tied
  // to its embedding) stands in each of them.
  NamedTensors parameters;
  std::function<Flow(Flow)> forward;
};

// What the names of a model's weights tell beyond naming them. Patterns have * and ?.
struct WeightNames {
  // The prefix of the last layer ("fc."), which is replaced when the class count differs.
  std::string head;
  // Tables that are looked up, and what is added to them: not matrices that something is
  // multiplied by.
  std::vector<std::string> tables = {};
  // Weights that files of the original may hold as [in, out].
  std::vector<std::string> transposed = {};
  // Weights that files may hold with more rows than the model has use for.
  std::vector<std::string> longer = {};
  // Names under which files may hold again what the model has once.
  std::vector<std::string> repeated = {};

  bool is_head(std::string_view name) const { return !head.empty() && name.starts_with(head); }

  bool is_table(std::string_view name) const;
};

// A model in a folder of Hugging Face's. Weights that WeightNames calls transposed are so there.
struct HuggingFaceLayout {
  std::string config_json;  // config.json
  std::string prefix;       // of the weights' names
};

class Model {
 public:
  virtual ~Model() = default;

  // Images to scores [N, classes], tokens to [N, T, vocab].
  virtual at::Tensor forward(const ModelInput& input) = 0;

  // Whether the last layer is a plain linear one, so that losses need not hold all scores at once
  // (Loss::of_head).
  virtual bool ends_in_linear() const { return false; }

  // Everything but that last layer. ends_in_linear() must have said so.
  virtual Head forward_to_head(const ModelInput& /*input*/) { return {}; }

  // Whether it tells documents apart; one that does not must not be given any.
  virtual bool takes_documents() const { return false; }

  // What training adds to its loss beside what the targets say, so that all of a mixture's experts
  // are used: the factor that the model itself names; nothing: there is no such loss.
  virtual std::optional<double> aux_loss_coefficient() const { return std::nullopt; }

  // That loss, without its factor, of the last forward pass in training; given once.
  virtual at::Tensor take_aux_loss() { return {}; }

  // In the order in which they compute: in training, forward() is each of them on what the one
  // before it gave, the first on {input.x} (of tokens without documents), the last one's x being
  // the scores. They belong to the
  // model and must not outlive it. Every parameter is in at least one. A model that does not know
  // better is one block.
  virtual std::vector<Block> blocks();

  // In training only what goes between blocks is kept for the backward pass, which computes the
  // rest again. False: the model has no blocks for that. Blocks may draw no random numbers then.
  virtual bool recompute_blocks() { return false; }

  // Names as in the PyTorch original, so that its weights load. Shared tensors are listed once.
  virtual NamedTensors parameters() const = 0;
  virtual NamedTensors buffers() const = 0;
  virtual const WeightNames& names() const;

  // What transformers builds the same network from; nothing: it has none like it. `dtype` is that
  // of the weights that stand beside it ("bfloat16").
  virtual std::optional<HuggingFaceLayout> hugging_face_layout(std::string_view dtype) const;

  virtual void set_training(bool is_training) = 0;
  virtual void to(at::Device device) = 0;

  // Floating-point parameters and buffers change their type (pure bf16 training).
  virtual void to(at::ScalarType type) = 0;

  // For a model that was made without memory: every parameter and buffer gets some on `device`,
  // without values. The tensors are others than before.
  virtual void allocate(at::Device device) { to(device); }
};

// A model is one file in nn/models/, registered by name. Initial weights come from torch's global
// generator: seed it first.
using Models = Registry<Model, config::ModelConfig, Signature, Making>;

// The model that the config names, its layers converted as the config asks (nn/converter.h), or
// the model that its file holds: TorchScript, or what others trained (nn/pretrained.h).
Result<std::unique_ptr<Model>> make_model(const config::ModelConfig& config,
                                          const Signature& signature, const Making& making = {});

std::int64_t count_parameters(const Model& model);

// Those that are not frozen.
NamedTensors trainable_parameters(const Model& model);

// The names of the others.
std::set<std::string> frozen_names(const Model& model);

}  // namespace kedge::nn
