// Residual networks (He et al. 2015) with torchvision's names, initial weights and stride
// placement.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <torch/nn/init.h>
#include <torch/types.h>

#include "nn/internal/image_layers.h"
#include "nn/internal/network.h"
#include "nn/internal/shape.h"

namespace kedge::nn {
namespace {

// Images up to this side keep their resolution in the first layers.
constexpr std::int64_t kCifarStemLargestSide = 64;

std::shared_ptr<Conv2d> conv_without_bias(const Making& making, std::int64_t in, std::int64_t out,
                                          Window window) {
  return std::make_shared<Conv2d>(
      making, ConvShape{.in = in, .out = out, .window = window, .has_bias = false});
}

struct BlockShape {
  std::int64_t in = 0;
  std::int64_t width = 0;
  std::int64_t stride = 1;
};

class ResidualBlock : public Layer {
 public:
  ResidualBlock(const Making& making, BlockShape shape, std::int64_t expansion) : Layer(making) {
    const std::int64_t out = shape.width * expansion;
    if (shape.stride != 1 || shape.in != out) {
      shrink_ = conv_without_bias(making, shape.in, out, {.stride = shape.stride});
      shrink_norm_ = std::make_shared<BatchNorm2d>(making, out);
    }
  }

  Flow forward(const Flow& flow) {
    return {add_residual(
        flow.x, shrink_ == nullptr ? flow.x : shrink_norm_->forward(shrink_->forward(flow.x)))};
  }

 protected:
  // ReLU of the sum of both ways.
  virtual at::Tensor add_residual(const at::Tensor& input, const at::Tensor& shortcut) = 0;

  // Called last by subclasses, because the order of parameters is that of adding.
  void add_downsample() {
    if (shrink_ != nullptr) {
      add_layer("downsample.0", shrink_);
      add_layer("downsample.1", shrink_norm_);
    }
  }

 private:
  std::shared_ptr<Conv2d> shrink_;
  std::shared_ptr<BatchNorm2d> shrink_norm_;
};

class BasicBlock : public ResidualBlock {
 public:
  static constexpr std::int64_t kExpansion = 1;

  BasicBlock(const Making& making, BlockShape shape) : ResidualBlock(making, shape, kExpansion) {
    const std::int64_t width = shape.width;
    conv1_ = add_layer("conv1", conv_without_bias(making, shape.in, width, {3, shape.stride, 1}));
    bn1_ = add_layer("bn1", std::make_shared<BatchNorm2d>(making, width));
    conv2_ = add_layer("conv2", conv_without_bias(making, width, width, {3, 1, 1}));
    bn2_ = add_layer("bn2", std::make_shared<BatchNorm2d>(making, width));
    add_downsample();
  }

 protected:
  at::Tensor add_residual(const at::Tensor& input, const at::Tensor& shortcut) override {
    const at::Tensor x = bn1_->forward_relu(conv1_->forward(input));
    return bn2_->forward_relu(conv2_->forward(x), shortcut);
  }

 private:
  std::shared_ptr<Conv2d> conv1_;
  std::shared_ptr<BatchNorm2d> bn1_;
  std::shared_ptr<Conv2d> conv2_;
  std::shared_ptr<BatchNorm2d> bn2_;
};

class Bottleneck : public ResidualBlock {
 public:
  static constexpr std::int64_t kExpansion = 4;

  Bottleneck(const Making& making, BlockShape shape) : ResidualBlock(making, shape, kExpansion) {
    const std::int64_t width = shape.width;
    const std::int64_t out = width * kExpansion;
    conv1_ = add_layer("conv1", conv_without_bias(making, shape.in, width, {}));
    bn1_ = add_layer("bn1", std::make_shared<BatchNorm2d>(making, width));
    conv2_ = add_layer("conv2", conv_without_bias(making, width, width, {3, shape.stride, 1}));
    bn2_ = add_layer("bn2", std::make_shared<BatchNorm2d>(making, width));
    conv3_ = add_layer("conv3", conv_without_bias(making, width, out, {}));
    bn3_ = add_layer("bn3", std::make_shared<BatchNorm2d>(making, out));
    add_downsample();
  }

 protected:
  at::Tensor add_residual(const at::Tensor& input, const at::Tensor& shortcut) override {
    at::Tensor x = bn1_->forward_relu(conv1_->forward(input));
    x = bn2_->forward_relu(conv2_->forward(x));
    return bn3_->forward_relu(conv3_->forward(x), shortcut);
  }

 private:
  std::shared_ptr<Conv2d> conv1_;
  std::shared_ptr<BatchNorm2d> bn1_;
  std::shared_ptr<Conv2d> conv2_;
  std::shared_ptr<BatchNorm2d> bn2_;
  std::shared_ptr<Conv2d> conv3_;
  std::shared_ptr<BatchNorm2d> bn3_;
};

using Depths = std::array<std::int64_t, 4>;

template <typename BlockType>
class ResNet : public Network {
 public:
  ResNet(const Making& making, const Depths& depths, bool has_cifar_stem,
         const Signature& signature)
      : Network(making, {.head = "fc."}) {
    const Window stem = has_cifar_stem ? Window{3, 1, 1} : Window{7, 2, 3};
    conv1_ = add_layer("conv1", conv_without_bias(making, signature.channels, 64, stem));
    bn1_ = add_layer("bn1", std::make_shared<BatchNorm2d>(making, 64));
    add_block("stem", {"conv1.", "bn1."}, [this, has_cifar_stem](const Flow& flow) -> Flow {
      const at::Tensor x = bn1_->forward_relu(conv1_->forward(flow.x));
      return {has_cifar_stem ? x : torch::max_pool2d(x, 3, 2, 1)};
    });
    BlockShape shape{.in = 64};
    for (std::size_t i = 0; i < depths.size(); ++i) {
      shape.width = std::int64_t{64} << i;
      for (std::int64_t j = 0; j < depths[i]; ++j) {
        shape.stride = j == 0 && i > 0 ? 2 : 1;
        const std::string name = fmt::format("layer{}.{}", i + 1, j);
        add_block_layer(name, std::make_shared<BlockType>(making, shape));
        shape.in = shape.width * BlockType::kExpansion;
      }
    }
    add_linear("fc", fc_, shape.in, signature.classes);
    add_block("head", {"fc."}, [this](const Flow& flow) -> Flow {
      return {fc_->forward(torch::adaptive_avg_pool2d(flow.x, {1, 1}).flatten(1))};
    });
    init_convolutions();
  }

 private:
  void init_convolutions() {
    each_layer([](const std::string& /*name*/, Layer& layer) {
      if (const auto* conv = dynamic_cast<const Conv2d*>(&layer)) {
        torch::nn::init::kaiming_normal_(conv->weight, 0, torch::kFanOut, torch::kReLU);
      }
    });
  }

  std::shared_ptr<Conv2d> conv1_;
  std::shared_ptr<BatchNorm2d> bn1_;
  std::shared_ptr<Linear> fc_;
};

bool has_cifar_stem(const config::ModelConfig& config, const Signature& signature) {
  if (config.stem == config::Stem::Auto) {
    return std::max(signature.height, signature.width) <= kCifarStemLargestSide;
  }
  return config.stem == config::Stem::Cifar;
}

template <typename BlockType>
Models::Entry resnet_entry(std::string_view name, Depths depths, std::string_view summary) {
  return {name,
          summary,
          [=](const config::ModelConfig& config, const Signature& signature,
              const Making& making) -> Result<std::unique_ptr<Model>> {
            KEDGE_TRY(require_images(name, signature));
            return std::make_unique<ResNet<BlockType>>(
                making, depths, has_cifar_stem(config, signature), signature);
          },
          {"stem"}};
}

const Models::Add kAdd18(
    resnet_entry<BasicBlock>("resnet18", {2, 2, 2, 2},
                             "ResNet-18, stem imagenet or cifar (11.2 M parameters "
                             "with 10 classes)"));
const Models::Add kAdd34(
    resnet_entry<BasicBlock>("resnet34", {3, 4, 6, 3},
                             "ResNet-34, stem imagenet or cifar (21.3 M parameters "
                             "with 10 classes)"));
const Models::Add kAdd50(
    resnet_entry<Bottleneck>("resnet50", {3, 4, 6, 3},
                             "ResNet-50, stem imagenet or cifar (23.5 M parameters "
                             "with 10 classes)"));

}  // namespace
}  // namespace kedge::nn
