// Residual networks (He et al. 2015) with torchvision's names, initial weights and stride
// placement.
#include <cstdint>
#include <string_view>
#include <vector>

#include "nn/internal/layers.h"
#include "nn/internal/modules.h"
#include "nn/internal/network.h"
#include "nn/internal/shape.h"

namespace kedge::nn {
namespace {

// Images up to this side keep their resolution in the first layers.
constexpr std::int64_t kCifarStemLargestSide = 64;

torch::nn::Conv2d conv_without_bias(std::int64_t in, std::int64_t out, Window window) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, window.kernel)
                               .stride(window.stride)
                               .padding(window.padding)
                               .bias(false));
}

struct BlockShape {
  std::int64_t in = 0;
  std::int64_t width = 0;
  std::int64_t stride = 1;
};

class Block : public Network {
 public:
  Block(BlockShape shape, std::int64_t expansion) {
    const std::int64_t out = shape.width * expansion;
    if (shape.stride != 1 || shape.in != out) {
      shrink_ = conv_without_bias(shape.in, out, {.stride = shape.stride});
      shrink_norm_ = torch::nn::BatchNorm2d(out);
    }
  }

  at::Tensor forward(const at::Tensor& input) override {
    return add_residual(input,
                        shrink_.is_empty() ? input : norm_only(shrink_norm_, shrink_(input)));
  }

 protected:
  // ReLU of the sum of both ways.
  virtual at::Tensor add_residual(const at::Tensor& input, const at::Tensor& shortcut) = 0;

  // Called last by subclasses, because the order of parameters is that of registration.
  void register_downsample() {
    if (!shrink_.is_empty()) {
      register_module("downsample", torch::nn::Sequential(shrink_, shrink_norm_));
    }
  }

 private:
  torch::nn::Conv2d shrink_{nullptr};
  torch::nn::BatchNorm2d shrink_norm_{nullptr};
};

class BasicBlock : public Block {
 public:
  static constexpr std::int64_t kExpansion = 1;

  explicit BasicBlock(BlockShape shape) : Block(shape, kExpansion) {
    conv1_ =
        register_module("conv1", conv_without_bias(shape.in, shape.width, {3, shape.stride, 1}));
    bn1_ = register_module("bn1", torch::nn::BatchNorm2d(shape.width));
    conv2_ = register_module("conv2", conv_without_bias(shape.width, shape.width, {3, 1, 1}));
    bn2_ = register_module("bn2", torch::nn::BatchNorm2d(shape.width));
    register_downsample();
  }

 protected:
  at::Tensor add_residual(const at::Tensor& input, const at::Tensor& shortcut) override {
    const at::Tensor x = norm_relu(bn1_, conv1_(input));
    return norm_relu(bn2_, conv2_(x), shortcut);
  }

 private:
  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr};
  torch::nn::Conv2d conv2_{nullptr};
  torch::nn::BatchNorm2d bn2_{nullptr};
};

class Bottleneck : public Block {
 public:
  static constexpr std::int64_t kExpansion = 4;

  explicit Bottleneck(BlockShape shape) : Block(shape, kExpansion) {
    const std::int64_t out = shape.width * kExpansion;
    conv1_ = register_module("conv1", conv_without_bias(shape.in, shape.width, {}));
    bn1_ = register_module("bn1", torch::nn::BatchNorm2d(shape.width));
    conv2_ =
        register_module("conv2", conv_without_bias(shape.width, shape.width, {3, shape.stride, 1}));
    bn2_ = register_module("bn2", torch::nn::BatchNorm2d(shape.width));
    conv3_ = register_module("conv3", conv_without_bias(shape.width, out, {}));
    bn3_ = register_module("bn3", torch::nn::BatchNorm2d(out));
    register_downsample();
  }

 protected:
  at::Tensor add_residual(const at::Tensor& input, const at::Tensor& shortcut) override {
    at::Tensor x = norm_relu(bn1_, conv1_(input));
    x = norm_relu(bn2_, conv2_(x));
    return norm_relu(bn3_, conv3_(x), shortcut);
  }

 private:
  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr};
  torch::nn::Conv2d conv2_{nullptr};
  torch::nn::BatchNorm2d bn2_{nullptr};
  torch::nn::Conv2d conv3_{nullptr};
  torch::nn::BatchNorm2d bn3_{nullptr};
};

using Depths = std::array<std::int64_t, 4>;

template <typename BlockType>
class ResNet : public Network {
 public:
  ResNet(const Depths& depths, bool has_cifar_stem, const Task& task)
      : has_cifar_stem_(has_cifar_stem) {
    const Window stem = has_cifar_stem ? Window{3, 1, 1} : Window{7, 2, 3};
    conv1_ = register_module("conv1", conv_without_bias(task.channels, 64, stem));
    bn1_ = register_module("bn1", torch::nn::BatchNorm2d(64));
    std::int64_t in = 64;
    for (std::size_t i = 0; i < depths.size(); ++i) {
      const std::int64_t width = std::int64_t{64} << i;
      torch::nn::Sequential layer;
      for (std::int64_t block = 0; block < depths[i]; ++block) {
        const std::int64_t stride = block == 0 && i > 0 ? 2 : 1;
        layer->push_back(
            std::make_shared<BlockType>(BlockShape{.in = in, .width = width, .stride = stride}));
        in = width * BlockType::kExpansion;
      }
      layers_[i] = register_module("layer" + std::to_string(i + 1), layer);
    }
    fc_ = register_module("fc", torch::nn::Linear(in, task.classes));
    init_convolutions();
  }

  at::Tensor forward(const at::Tensor& input) override {
    at::Tensor x = norm_relu(bn1_, conv1_(input));
    if (!has_cifar_stem_) {
      x = torch::max_pool2d(x, 3, 2, 1);
    }
    for (torch::nn::Sequential& layer : layers_) {
      x = layer->forward(x);
    }
    return fc_(torch::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }

 private:
  void init_convolutions() {
    for (const auto& module : modules(/*include_self=*/false)) {
      if (const auto* layer = module->template as<torch::nn::Conv2d>()) {
        torch::nn::init::kaiming_normal_(layer->weight, 0, torch::kFanOut, torch::kReLU);
      }
    }
  }

  bool has_cifar_stem_;
  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr};
  std::array<torch::nn::Sequential, 4> layers_{nullptr, nullptr, nullptr, nullptr};
  torch::nn::Linear fc_{nullptr};
};

bool has_cifar_stem(const config::ModelConfig& config, const Task& task) {
  if (config.stem == config::Stem::Auto) {
    return std::max(task.height, task.width) <= kCifarStemLargestSide;
  }
  return config.stem == config::Stem::Cifar;
}

template <typename BlockType>
Models::Entry resnet_entry(std::string_view name, Depths depths, std::string_view summary) {
  return {
      name, summary,
      [=](const config::ModelConfig& config, const Task& task) -> Result<std::unique_ptr<Model>> {
        KEDGE_TRY(require_images(name, task));
        return make_network_model(
            std::make_shared<ResNet<BlockType>>(depths, has_cifar_stem(config, task), task), "fc.");
      }};
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
