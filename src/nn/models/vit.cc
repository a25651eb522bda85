// A small vision transformer (Dosovitskiy et al. 2020): pre-norm blocks, a class token, learned
// positions; timm's names and initial weights. Shapes: B images, T patches + 1, C width, H heads.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <torch/nn/init.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "nn/internal/image_layers.h"
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

std::shared_ptr<LayerNorm> vit_norm(const Making& making, std::int64_t width) {
  return std::make_shared<LayerNorm>(making, width, kNormEps);
}

class VitAttention : public Layer {
 public:
  VitAttention(const Making& making, const VitShape& shape) : Layer(making), shape_(shape) {
    add_linear("qkv", qkv_, shape.width, 3 * shape.width);
    add_linear("proj", proj_, shape.width, shape.width);
    dropout_ = add_layer("proj_drop", std::make_shared<Dropout>(making, shape.dropout));
  }

  at::Tensor forward(const at::Tensor& x_BTC) {
    const std::vector<at::Tensor> qkv = qkv_->forward_thirds(x_BTC);
    const at::Tensor y_BHTD = torch::scaled_dot_product_attention(
        split_heads(qkv[0], shape_.heads), split_heads(qkv[1], shape_.heads),
        split_heads(qkv[2], shape_.heads));
    return dropout_->forward(proj_->forward(y_BHTD.transpose(1, 2).flatten(2)));
  }

 private:
  VitShape shape_;
  std::shared_ptr<Linear> qkv_;
  std::shared_ptr<Linear> proj_;
  std::shared_ptr<Dropout> dropout_;
};

class VitMlp : public Layer {
 public:
  VitMlp(const Making& making, const VitShape& shape) : Layer(making) {
    add_linear("fc1", fc1_, shape.width, 4 * shape.width);
    add_linear("fc2", fc2_, 4 * shape.width, shape.width);
    dropout_ = add_layer("drop", std::make_shared<Dropout>(making, shape.dropout));
  }

  at::Tensor forward(const at::Tensor& x_BTC) {
    const at::Tensor hidden = dropout_->forward(fc1_->forward(x_BTC, Activation::Gelu));
    return dropout_->forward(fc2_->forward(hidden));
  }

 private:
  std::shared_ptr<Linear> fc1_;
  std::shared_ptr<Linear> fc2_;
  std::shared_ptr<Dropout> dropout_;
};

class VitBlock : public Layer {
 public:
  VitBlock(const Making& making, const VitShape& shape) : Layer(making) {
    norm1_ = add_layer("norm1", vit_norm(making, shape.width));
    attention_ = add_layer("attn", std::make_shared<VitAttention>(making, shape));
    norm2_ = add_layer("norm2", vit_norm(making, shape.width));
    mlp_ = add_layer("mlp", std::make_shared<VitMlp>(making, shape));
  }

  Flow forward(const Flow& flow) {
    const at::Tensor y_BTC = flow.x + attention_->forward(norm1_->forward(flow.x));
    return {y_BTC + mlp_->forward(norm2_->forward(y_BTC))};
  }

 private:
  std::shared_ptr<LayerNorm> norm1_;
  std::shared_ptr<VitAttention> attention_;
  std::shared_ptr<LayerNorm> norm2_;
  std::shared_ptr<VitMlp> mlp_;
};

class Vit : public Network {
 public:
  Vit(const Making& making, const VitShape& shape, const Signature& signature)
      : Network(making, {.head = "head.", .tables = {"pos_embed", "patch_embed.*"}}) {
    const std::int64_t patches = (signature.height / shape.patch) * (signature.width / shape.patch);
    add_parameter("cls_token", cls_token_, torch::empty({1, 1, shape.width}, options()));
    add_parameter("pos_embed", pos_embed_, torch::empty({1, patches + 1, shape.width}, options()));
    patch_embed_ = add_layer(
        "patch_embed.proj",
        std::make_shared<Conv2d>(making, ConvShape{.in = signature.channels,
                                                   .out = shape.width,
                                                   .window = {shape.patch, shape.patch, 0}}));
    dropout_ = add_layer("pos_drop", std::make_shared<Dropout>(making, shape.dropout));
    add_block("stem", {"cls_token", "pos_embed", "patch_embed."},
              [this](const Flow& flow) { return embed(flow.x); });
    for (std::int64_t i = 0; i < shape.layers; ++i) {
      const std::string name = fmt::format("blocks.{}", i);
      add_block_layer(name, std::make_shared<VitBlock>(making, shape));
    }
    norm_ = add_layer("norm", vit_norm(making, shape.width));
    add_linear("head", head_, shape.width, signature.classes);
    add_block("head", {"norm.", "head."}, [this](const Flow& flow) -> Flow {
      return {head_->forward(norm_->forward(flow.x.select(1, 0)))};
    });
    init_weights();
  }

 private:
  Flow embed(const at::Tensor& images) {
    const at::Tensor patches_BTC = patch_embed_->forward(images).flatten(2).transpose(1, 2);
    const at::Tensor cls_B1C = cls_token_.expand_as(patches_BTC.narrow(1, 0, 1));
    return {dropout_->forward(torch::cat({cls_B1C, patches_BTC}, 1) + pos_embed_)};
  }

  void init_weights() {
    const torch::NoGradGuard no_grad;
    torch::nn::init::normal_(cls_token_, 0, 1e-6);
    torch::nn::init::normal_(pos_embed_, 0, kVitInitStd);
    each_layer([](const std::string& /*name*/, Layer& layer) {
      if (auto* linear = dynamic_cast<Linear*>(&layer)) {
        torch::nn::init::normal_(linear->weight, 0, kVitInitStd);
        torch::nn::init::zeros_(linear->bias);
      }
    });
  }

  at::Tensor cls_token_;
  at::Tensor pos_embed_;
  std::shared_ptr<Conv2d> patch_embed_;
  std::shared_ptr<Dropout> dropout_;
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Linear> head_;
};

Result<std::unique_ptr<Model>> make_vit(const config::ModelConfig& config,
                                        const Signature& signature, const Making& making) {
  KEDGE_TRY(require_images("vit", signature));
  VitShape shape;
  const bool is_small = std::max(signature.height, signature.width) <= kSmallImageLargestSide;
  shape.patch = config.patch.value_or(is_small ? 4 : 16);
  shape.layers = config.layers.value_or(shape.layers);
  shape.heads = config.heads.value_or(shape.heads);
  shape.width = config.width.value_or(shape.width);
  shape.dropout = config.dropout.value_or(shape.dropout);
  KEDGE_TRY(require_heads_divide("vit", shape.width, shape.heads));
  if (shape.patch < 1 || signature.height % shape.patch != 0 ||
      signature.width % shape.patch != 0) {
    return fail(ErrorKind::Usage,
                fmt::format("vit: model.patch {} does not divide images of {}x{} pixels",
                            shape.patch, signature.height, signature.width),
                "set model.patch to a divisor of both sides, or resize the images");
  }
  return std::make_unique<Vit>(making, shape, signature);
}

const Models::Add kAddVit({"vit",
                           "small vision transformer, 6 layers of width 192 with 3 heads; "
                           "model.patch, layers, heads, width",
                           make_vit,
                           {"patch", "layers", "heads", "width", "dropout"}});

}  // namespace
}  // namespace kedge::nn
