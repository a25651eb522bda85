// A small network that learns CIFAR-10 in seconds. Its ideas are published: a first layer of
// whitened patches that is not trained (Page 2018, "How to train your ResNet"), convolutions that
// begin as the identity, pooling before the norm, answers averaged over six views (Jordan 2024,
// arXiv:2404.00498).
#include <algorithm>
#include <array>
#include <cstdint>

#include "nn/internal/layers.h"
#include "nn/internal/modules.h"
#include "nn/internal/network.h"
#include "nn/internal/shape.h"

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
constexpr std::array kSpeedNetWindows{kWhiten, kPool2, kPool2, kPool2};

torch::nn::BatchNorm2d speed_norm(std::int64_t channels) {
  return torch::nn::BatchNorm2d(
      torch::nn::BatchNorm2dOptions(channels).momentum(kNormMomentum).eps(1e-6));
}

// Its first channels pass on those that come in.
torch::nn::Conv2d identity_conv(std::int64_t in, std::int64_t out) {
  torch::nn::Conv2d layer(torch::nn::Conv2dOptions(in, out, 3).padding(1).bias(false));
  const torch::NoGradGuard no_grad;
  at::Tensor first = layer->weight.narrow(0, 0, std::min(in, out));
  torch::nn::init::dirac_(first);
  return layer;
}

class SpeedBlock : public Network {
 public:
  SpeedBlock(std::int64_t in, std::int64_t out) {
    conv1_ = register_module("conv1", identity_conv(in, out));
    bn1_ = register_module("bn1", speed_norm(out));
    conv2_ = register_module("conv2", identity_conv(out, out));
    bn2_ = register_module("bn2", speed_norm(out));
  }

  at::Tensor forward(const at::Tensor& input) override {
    const at::Tensor x = norm_gelu(bn1_, max_pool(conv1_(input)));
    return norm_gelu(bn2_, conv2_(x));
  }

 private:
  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr};
  torch::nn::Conv2d conv2_{nullptr};
  torch::nn::BatchNorm2d bn2_{nullptr};
};

// By one pixel; what comes in at the border is what lies next to it.
at::Tensor moved_forth(const at::Tensor& x, std::int64_t axis) {
  return torch::cat({x.slice(axis, 1, 2), x.slice(axis, 0, -1)}, axis);
}

at::Tensor moved_back(const at::Tensor& x, std::int64_t axis) {
  return torch::cat({x.slice(axis, 1), x.slice(axis, -2, -1)}, axis);
}

class SpeedNet : public Network {
 public:
  explicit SpeedNet(const Task& task) {
    const std::int64_t values = task.channels * kWhiten.kernel * kWhiten.kernel;
    // Plain patches until look_at() knows better.
    at::Tensor patches = torch::eye(values).view({values, task.channels, 2, 2});
    whiten_weight_ = register_buffer("whiten_weight", torch::cat({patches, -patches}));
    whiten_bias_ = register_parameter("whiten_bias", torch::full({2 * values}, kWhitenBias));
    std::int64_t in = 2 * values;
    for (std::size_t i = 0; i < kWidths.size(); ++i) {
      blocks_[i] = register_module("block" + std::to_string(i + 1),
                                   std::make_shared<SpeedBlock>(in, kWidths[i]));
      in = kWidths[i];
    }
    fc_ = register_module(
        "fc", torch::nn::Linear(torch::nn::LinearOptions(in, task.classes).bias(false)));
    const torch::NoGradGuard no_grad;
    fc_->weight.div_(fc_->weight.std() * (static_cast<double>(in) * kScoreScale));
  }

  at::Tensor forward(const at::Tensor& input) override {
    return is_training() ? scores(input) : scores_of_views(input);
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
  at::Tensor scores(const at::Tensor& input) {
    at::Tensor x = whiten({.x = input, .weight = whiten_weight_, .bias = whiten_bias_});
    for (const auto& block : blocks_) {
      x = block->forward(x);
    }
    return fc_(max_of_image(x)) * kScoreScale;
  }

  at::Tensor scores_of_both_sides(const at::Tensor& input) {
    return (scores(input) + scores(input.flip(3))) * 0.5;
  }

  // The image itself counts half; moved by a pixel to two corners, a quarter each.
  at::Tensor scores_of_views(const at::Tensor& input) {
    const at::Tensor moved = scores_of_both_sides(moved_forth(moved_forth(input, 2), 3)) +
                             scores_of_both_sides(moved_back(moved_back(input, 2), 3));
    return (scores_of_both_sides(input) + moved * 0.5) * 0.5;
  }

  at::Tensor whiten_weight_;  // [8 C, C, 2, 2]
  at::Tensor whiten_bias_;
  std::array<std::shared_ptr<SpeedBlock>, kWidths.size()> blocks_;
  torch::nn::Linear fc_{nullptr};
};

Result<std::unique_ptr<Model>> make_speednet(const config::ModelConfig& /*config*/,
                                             const Task& task) {
  KEDGE_TRY(require_images("speednet", task));
  KEDGE_TRY(size_after("speednet", task, kSpeedNetWindows));
  return make_network_model(std::make_shared<SpeedNet>(task), "fc.");
}

const Models::Add kAddSpeedNet(
    {"speednet",
     "6 convolutions (64-256-256) behind whitened patches, for small images, "
     "answers averaged over six views (2.0 M parameters)",
     make_speednet});

}  // namespace
}  // namespace kedge::nn
