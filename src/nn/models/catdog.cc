// The cat/dog network: three convolutions with stride and pooling, three linear layers.
#include <array>

#include "nn/internal/modules.h"
#include "nn/internal/network.h"
#include "nn/internal/shape.h"

namespace kedge::nn {
namespace {

constexpr Window kConv12{.kernel = 5, .stride = 2, .padding = 1};
constexpr Window kConv3{.kernel = 3, .stride = 1, .padding = 1};
constexpr std::array kCatDogWindows{kConv12, kPool2, kConv12, kPool2, kConv3, kPool2};

torch::nn::Conv2d strided_conv(std::int64_t in, std::int64_t out, const Window& window) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, window.kernel)
                               .stride(window.stride)
                               .padding(window.padding));
}

class CatDog : public Network {
 public:
  CatDog(const Task& task, ImageSize last) {
    conv1_ = register_module("conv1", strided_conv(task.channels, 16, kConv12));
    conv2_ = register_module("conv2", strided_conv(16, 32, kConv12));
    conv3_ = register_module("conv3", strided_conv(32, 64, kConv3));
    fc1_ = register_module("fc1", torch::nn::Linear(64 * last.area(), 500));
    fc2_ = register_module("fc2", torch::nn::Linear(500, 50));
    fc3_ = register_module("fc3", torch::nn::Linear(50, task.classes));
  }

  at::Tensor forward(const at::Tensor& input) override {
    at::Tensor x = torch::max_pool2d(rectified(conv1_(input)), 2);
    x = torch::max_pool2d(rectified(conv2_(x)), 2);
    x = torch::max_pool2d(rectified(conv3_(x)), 2);
    x = rectified(fc1_(x.flatten(1)));
    return fc3_(rectified(fc2_(x)));
  }

 private:
  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::Conv2d conv2_{nullptr};
  torch::nn::Conv2d conv3_{nullptr};
  torch::nn::Linear fc1_{nullptr};
  torch::nn::Linear fc2_{nullptr};
  torch::nn::Linear fc3_{nullptr};
};

Result<std::unique_ptr<Model>> make_catdog(const config::ModelConfig& /*config*/,
                                           const Task& task) {
  KEDGE_TRY(require_images("catdog", task));
  const ImageSize last = KEDGE_TRY(size_after("catdog", task, kCatDogWindows));
  return make_network_model(std::make_shared<CatDog>(task, last), "fc3.");
}

const Models::Add kAddCatDog(
    {"catdog",
     "3 strided convolutions (16-32-64) and 3 linear layers (1.2 M parameters "
     "at 224x224)",
     make_catdog});

}  // namespace
}  // namespace kedge::nn
