// A small BatchNorm network for MNIST-like images: two convolution stages, one linear layer.
#include <array>

#include "nn/internal/batch_norm.h"
#include "nn/internal/modules.h"
#include "nn/internal/network.h"
#include "nn/internal/shape.h"

namespace kedge::nn {
namespace {

constexpr Window kConvNetConv{.kernel = 5, .stride = 1, .padding = 2};
constexpr std::array kConvNetWindows{kConvNetConv, kPool2, kConvNetConv, kPool2};

torch::nn::Sequential stage(std::int64_t in, std::int64_t out) {
  return torch::nn::Sequential(
      torch::nn::Conv2d(
          torch::nn::Conv2dOptions(in, out, kConvNetConv.kernel).padding(kConvNetConv.padding)),
      BatchNorm2d(out), torch::nn::ReLU(torch::nn::ReLUOptions().inplace(true)),
      torch::nn::MaxPool2d(kPool2.kernel));
}

class ConvNet : public Network {
 public:
  ConvNet(const Task& task, ImageSize last) {
    layer1_ = register_module("layer1", stage(task.channels, 16));
    layer2_ = register_module("layer2", stage(16, 32));
    fc_ = register_module("fc", torch::nn::Linear(32 * last.area(), task.classes));
  }

  at::Tensor forward(const at::Tensor& input) override {
    return fc_(layer2_->forward(layer1_->forward(input)).flatten(1));
  }

 private:
  torch::nn::Sequential layer1_{nullptr};
  torch::nn::Sequential layer2_{nullptr};
  torch::nn::Linear fc_{nullptr};
};

Result<std::unique_ptr<Model>> make_convnet(const config::ModelConfig& /*config*/,
                                            const Task& task) {
  KEDGE_TRY(require_images("convnet", task));
  const ImageSize last = KEDGE_TRY(size_after("convnet", task, kConvNetWindows));
  return make_network_model(std::make_shared<ConvNet>(task, last), "fc.");
}

const Models::Add kAddConvNet({"convnet",
                               "2 convolutions (16-32) with BatchNorm and 1 linear layer (29,034 "
                               "parameters at 28x28)",
                               make_convnet});

}  // namespace
}  // namespace kedge::nn
