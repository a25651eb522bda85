// A small network that learns CIFAR-10 in seconds. Its ideas are published: a first layer of
// whitened patches that is not trained (Page 2018, "How to train your ResNet"), convolutions that
// begin as the identity, pooling before the norm, answers averaged over six views (Jordan 2024,
// arXiv:2404.00498).
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include <torch/nn/init.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "nn/internal/image_layers.h"
#include "nn/internal/network.h"
#include "nn/internal/shape.h"
#include "nn/whitening.h"

namespace kedge::nn {
namespace {

constexpr std::array<std::int64_t, 3> kWidths = {64, 256, 256};
constexpr std::int64_t kImagesToLookAt = 5000;
constexpr double kWhitenEps = 5e-4;  // directions with less variance are mostly noise
// About what training makes of it: from 0.1 to 0.7 the answers are as good as with a trained one.
constexpr double kWhitenBias = 0.5;
constexpr double kNormMomentum = 0.4;
// Sets how fast the head learns beside the biases at one rate: its weights begin so large that
// scores are sums over the features divided by their number, whatever this is.
constexpr double kScoreScale = 1.0 / 72;
constexpr Window kWhiten{.kernel = 2};
constexpr Window kConv{.kernel = 3, .stride = 1, .padding = 1};
constexpr std::array kSpeedNetWindows{kWhiten, kPool2, kPool2, kPool2};

std::shared_ptr<BatchNorm2d> speed_norm(const Making& making, std::int64_t channels) {
  return std::make_shared<BatchNorm2d>(making, channels,
                                       NormOptions{.momentum = kNormMomentum, .eps = 1e-6});
}

// Its first channels pass on those that come in.
std::shared_ptr<Conv2d> identity_conv(const Making& making, std::int64_t in, std::int64_t out) {
  auto layer = std::make_shared<Conv2d>(
      making, ConvShape{.in = in, .out = out, .window = kConv, .has_bias = false});
  const torch::NoGradGuard no_grad;
  at::Tensor first = layer->weight.narrow(0, 0, std::min(in, out));
  torch::nn::init::dirac_(first);
  return layer;
}

class SpeedBlock : public Layer {
 public:
  SpeedBlock(const Making& making, std::int64_t in, std::int64_t out) : Layer(making) {
    conv1_ = add_layer("conv1", identity_conv(making, in, out));
    bn1_ = add_layer("bn1", speed_norm(making, out));
    conv2_ = add_layer("conv2", identity_conv(making, out, out));
    bn2_ = add_layer("bn2", speed_norm(making, out));
  }

  Flow forward(const Flow& flow) {
    const at::Tensor x = bn1_->forward_gelu(max_pool(context(), conv1_->forward(flow.x)));
    return {bn2_->forward_gelu(conv2_->forward(x))};
  }

 private:
  std::shared_ptr<Conv2d> conv1_;
  std::shared_ptr<BatchNorm2d> bn1_;
  std::shared_ptr<Conv2d> conv2_;
  std::shared_ptr<BatchNorm2d> bn2_;
};

// By one pixel; what comes in at the border is what lies next to it.
at::Tensor moved_forth(const at::Tensor& x, std::int64_t axis) {
  return torch::cat({x.slice(axis, 1, 2), x.slice(axis, 0, -1)}, axis);
}

at::Tensor moved_back(const at::Tensor& x, std::int64_t axis) {
  return torch::cat({x.slice(axis, 1), x.slice(axis, -2, -1)}, axis);
}

class SpeedNet : public Network, public LooksAtImages {
 public:
  SpeedNet(const Making& making, const Signature& signature) : Network(making, {.head = "fc."}) {
    const std::int64_t values = signature.channels * kWhiten.kernel * kWhiten.kernel;
    // Plain patches until look_at() knows better.
    const at::Tensor patches =
        torch::eye(values, options()).view({values, signature.channels, 2, 2});
    add_buffer("whiten_weight", whiten_weight_, torch::cat({patches, -patches}));
    add_parameter("whiten_bias", whiten_bias_, torch::full({2 * values}, kWhitenBias, options()));
    add_block("whiten", {"whiten_"}, [this](const Flow& flow) -> Flow {
      return {whitened({.x = flow.x, .weight = whiten_weight_, .bias = whiten_bias_})};
    });
    std::int64_t in = 2 * values;
    for (std::size_t i = 0; i < kWidths.size(); ++i) {
      const std::string name = "block" + std::to_string(i + 1);
      add_block_layer(name, std::make_shared<SpeedBlock>(making, in, kWidths[i]));
      in = kWidths[i];
    }
    add_linear("fc", fc_, in, signature.classes, /*has_bias=*/false);
    add_block("fc", {"fc."}, [this](const Flow& flow) -> Flow {
      return {fc_->forward(max_of_image(flow.x)) * kScoreScale};
    });
    if (making.has_memory) {
      const torch::NoGradGuard no_grad;
      fc_->weight.div_(fc_->weight.std() * (static_cast<double>(in) * kScoreScale));
    }
  }

  at::Tensor forward(const ModelInput& input) override {
    return is_training() ? run_blocks({.x = input.x}) : scores_of_views(input.x);
  }

  std::int64_t wants_images() const override { return kImagesToLookAt; }

  // Makes the first layer's outputs uncorrelated, each of variance 1, on these images.
  void look_at(const at::Tensor& images) override {
    const torch::NoGradGuard no_grad;
    const at::Tensor patches = images.to(at::kFloat)
                                   .unfold(2, kWhiten.kernel, 1)
                                   .unfold(3, kWhiten.kernel, 1)
                                   .permute({0, 2, 3, 1, 4, 5})
                                   .flatten(3)
                                   .flatten(0, 2);
    const at::Tensor covariance = patches.t().mm(patches) / patches.size(0);
    const auto [variances, directions] = at::linalg_eigh(covariance.cpu().to(at::kDouble));
    const at::Tensor rows = (directions / (variances + kWhitenEps).sqrt()).t();
    whiten_weight_.copy_(torch::cat({rows, -rows}).view(whiten_weight_.sizes()));
  }

 private:
  WhitenOps* whiten_ops() const { return dynamic_cast<WhitenOps*>(context().fused); }

  at::Tensor whitened(const WhitenStep& step) const {
    const at::Tensor y = whiten_ops() == nullptr ? at::Tensor() : whiten_ops()->whiten(step);
    return y.defined() ? y : torch::gelu(torch::conv2d(step.x, step.weight, step.bias));
  }

  // Over an image's pixels, per channel: [N, C].
  at::Tensor max_of_image(const at::Tensor& x) const {
    const at::Tensor y = whiten_ops() == nullptr ? at::Tensor() : whiten_ops()->max_of_image(x);
    return y.defined() ? y : x.amax({2, 3});
  }

  at::Tensor scores_of_both_sides(const at::Tensor& input) {
    return (run_blocks({.x = input}) + run_blocks({.x = input.flip(3)})) * 0.5;
  }

  // The image itself counts half; moved by a pixel to two corners, a quarter each.
  at::Tensor scores_of_views(const at::Tensor& input) {
    const at::Tensor moved = scores_of_both_sides(moved_forth(moved_forth(input, 2), 3)) +
                             scores_of_both_sides(moved_back(moved_back(input, 2), 3));
    return (scores_of_both_sides(input) + moved * 0.5) * 0.5;
  }

  at::Tensor whiten_weight_;  // [8 C, C, 2, 2]
  at::Tensor whiten_bias_;
  std::shared_ptr<Linear> fc_;
};

Result<std::unique_ptr<Model>> make_speednet(const config::ModelConfig& /*config*/,
                                             const Signature& signature, const Making& making) {
  KEDGE_TRY(require_images("speednet", signature));
  KEDGE_TRY(size_after("speednet", signature, kSpeedNetWindows));
  return std::make_unique<SpeedNet>(making, signature);
}

const Models::Add kAddSpeedNet(
    {"speednet",
     "6 convolutions (64-256-256) behind whitened patches, for small images, "
     "answers averaged over six views (2.0 M parameters)",
     make_speednet});

}  // namespace
}  // namespace kedge::nn
