// A small vision transformer (Dosovitskiy et al. 2020): pre-norm blocks, a class token, learned
// positions; timm's names and initial weights. Shapes: B images, T patches + 1, C width, H heads.
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "nn/dropout.h"
#include "nn/internal/layers.h"
#include "nn/internal/modules.h"
#include "nn/internal/network.h"
#include "nn/internal/shape.h"

namespace kedge::nn {
namespace {

struct VitShape {
  std::int64_t patch = 4;
  std::int64_t layers = 6;
  std::int64_t heads = 3;
  std::int64_t width = 192;
  double dropout = 0.0;
};

// Patches of 4 pixels up to this side, of 16 beyond.
constexpr std::int64_t kSmallImageLargestSide = 64;

constexpr double kNormEps = 1e-6;
constexpr double kVitInitStd = 0.02;

torch::nn::LayerNorm vit_norm(std::int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}).eps(kNormEps));
}

class VitAttention : public torch::nn::Module {
 public:
  explicit VitAttention(const VitShape& shape) : shape_(shape) {
    qkv_ = register_module("qkv", torch::nn::Linear(shape.width, 3 * shape.width));
    proj_ = register_module("proj", torch::nn::Linear(shape.width, shape.width));
    dropout_ = register_module("proj_drop", torch::nn::Dropout(shape.dropout));
  }

  at::Tensor forward(const at::Tensor& x_BTC) {
    const std::vector<at::Tensor> qkv = linear_thirds(qkv_, x_BTC);
    const at::Tensor y_BHTD = torch::scaled_dot_product_attention(
        split_heads(qkv[0], shape_.heads), split_heads(qkv[1], shape_.heads),
        split_heads(qkv[2], shape_.heads));
    return dropout_(linear(proj_, y_BHTD.transpose(1, 2).flatten(2)));
  }

 private:
  VitShape shape_;
  torch::nn::Linear qkv_{nullptr};
  torch::nn::Linear proj_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
};

class VitMlp : public torch::nn::Module {
 public:
  explicit VitMlp(const VitShape& shape) {
    fc1_ = register_module("fc1", torch::nn::Linear(shape.width, 4 * shape.width));
    fc2_ = register_module("fc2", torch::nn::Linear(4 * shape.width, shape.width));
    dropout_ = register_module("drop", torch::nn::Dropout(shape.dropout));
  }

  at::Tensor forward(const at::Tensor& x_BTC) {
    return dropout_(linear(fc2_, dropout_(linear(fc1_, x_BTC, Activation::Gelu))));
  }

 private:
  torch::nn::Linear fc1_{nullptr};
  torch::nn::Linear fc2_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
};

class VitBlock : public torch::nn::Module {
 public:
  explicit VitBlock(const VitShape& shape) {
    norm1_ = register_module("norm1", vit_norm(shape.width));
    attention_ = register_module("attn", std::make_shared<VitAttention>(shape));
    norm2_ = register_module("norm2", vit_norm(shape.width));
    mlp_ = register_module("mlp", std::make_shared<VitMlp>(shape));
  }

  at::Tensor forward(const at::Tensor& x_BTC) {
    const at::Tensor y_BTC = x_BTC + attention_->forward(norm1_(x_BTC));
    return y_BTC + mlp_->forward(norm2_(y_BTC));
  }

 private:
  torch::nn::LayerNorm norm1_{nullptr};
  std::shared_ptr<VitAttention> attention_;
  torch::nn::LayerNorm norm2_{nullptr};
  std::shared_ptr<VitMlp> mlp_;
};

// Only a name: timm keeps the patch projection at patch_embed.proj.
class PatchEmbed : public torch::nn::Module {
 public:
  PatchEmbed(const VitShape& shape, std::int64_t channels) {
    proj_ = register_module(
        "proj",
        torch::nn::Conv2d(
            torch::nn::Conv2dOptions(channels, shape.width, shape.patch).stride(shape.patch)));
  }

  at::Tensor forward(const at::Tensor& image) { return proj_(image).flatten(2).transpose(1, 2); }

 private:
  torch::nn::Conv2d proj_{nullptr};
};

class Vit : public Network {
 public:
  Vit(const VitShape& shape, const Task& task) {
    const std::int64_t patches = (task.height / shape.patch) * (task.width / shape.patch);
    cls_token_ = register_parameter("cls_token", torch::empty({1, 1, shape.width}));
    pos_embed_ = register_parameter("pos_embed", torch::empty({1, patches + 1, shape.width}));
    patch_embed_ =
        register_module("patch_embed", std::make_shared<PatchEmbed>(shape, task.channels));
    dropout_ = register_module("pos_drop", torch::nn::Dropout(shape.dropout));
    const auto blocks = register_module("blocks", torch::nn::ModuleList());
    for (std::int64_t i = 0; i < shape.layers; ++i) {
      blocks_.push_back(std::make_shared<VitBlock>(shape));
      blocks->push_back(blocks_.back());
    }
    norm_ = register_module("norm", vit_norm(shape.width));
    head_ = register_module("head", torch::nn::Linear(shape.width, task.classes));
    init_weights();
  }

  at::Tensor forward(const at::Tensor& input) override {
    const at::Tensor patches_BTC = patch_embed_->forward(input);
    const at::Tensor cls_B1C = cls_token_.expand_as(patches_BTC.narrow(1, 0, 1));
    at::Tensor x_BTC = dropout_(torch::cat({cls_B1C, patches_BTC}, 1) + pos_embed_);
    for (const std::shared_ptr<VitBlock>& block : blocks_) {
      x_BTC = block->forward(x_BTC);
    }
    return head_(norm_(x_BTC.select(1, 0)));
  }

 private:
  void init_weights() {
    const torch::NoGradGuard no_grad;
    torch::nn::init::normal_(cls_token_, 0, 1e-6);
    torch::nn::init::normal_(pos_embed_, 0, kVitInitStd);
    for (const auto& module : modules(/*include_self=*/false)) {
      if (const auto* linear = module->as<torch::nn::Linear>()) {
        torch::nn::init::normal_(linear->weight, 0, kVitInitStd);
        torch::nn::init::zeros_(linear->bias);
      }
    }
  }

  at::Tensor cls_token_;
  at::Tensor pos_embed_;
  std::shared_ptr<PatchEmbed> patch_embed_;
  torch::nn::Dropout dropout_{nullptr};
  std::vector<std::shared_ptr<VitBlock>> blocks_;
  torch::nn::LayerNorm norm_{nullptr};
  torch::nn::Linear head_{nullptr};
};

Result<std::unique_ptr<Model>> make_vit(const config::ModelConfig& config, const Task& task) {
  KEDGE_TRY(require_images("vit", task));
  VitShape shape;
  const bool is_small = std::max(task.height, task.width) <= kSmallImageLargestSide;
  shape.patch = config.patch.value_or(is_small ? 4 : 16);
  shape.layers = config.layers.value_or(shape.layers);
  shape.heads = config.heads.value_or(shape.heads);
  shape.width = config.width.value_or(shape.width);
  shape.dropout = config.dropout.value_or(shape.dropout);
  KEDGE_TRY(require_heads_divide("vit", shape.width, shape.heads));
  if (shape.patch < 1 || task.height % shape.patch != 0 || task.width % shape.patch != 0) {
    return fail(ErrorKind::Usage,
                fmt::format("vit: model.patch {} does not divide images of {}x{} pixels",
                            shape.patch, task.height, task.width),
                "set model.patch to a divisor of both sides, or resize the images");
  }
  return make_network_model(std::make_shared<Vit>(shape, task), "head.");
}

const Models::Add kAddVit({"vit",
                           "small vision transformer, 6 layers of width 192 with 3 heads; "
                           "model.patch, layers, heads, width",
                           make_vit});
const TakesDropout kVitTakesDropout({"vit"});

}  // namespace
}  // namespace kedge::nn
