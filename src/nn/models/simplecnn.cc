// The CIFAR-10 network of many introductions: three convolutions, two linear layers.
#include <array>

#include "nn/dropout.h"
#include "nn/internal/layers.h"
#include "nn/internal/modules.h"
#include "nn/internal/network.h"
#include "nn/internal/shape.h"

namespace kedge::nn {
namespace {

constexpr Window kSimpleCnnConv{.kernel = 3, .stride = 1, .padding = 1};
constexpr std::array kSimpleCnnWindows{kSimpleCnnConv, kPool2,         kSimpleCnnConv,
                                       kPool2,         kSimpleCnnConv, kPool2};

class SimpleCnn : public Network {
 public:
  SimpleCnn(const config::ModelConfig& config, const Task& task, ImageSize last)
      : has_norm_(config.batch_norm) {
    const std::array<std::int64_t, 4> channels{task.channels, 64, 128, 256};
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string number = std::to_string(i + 1);
      convs_[i] = register_module(
          "conv" + number, torch::nn::Conv2d(torch::nn::Conv2dOptions(channels[i], channels[i + 1],
                                                                      kSimpleCnnConv.kernel)
                                                 .padding(1)));
      if (has_norm_) {
        norms_[i] = register_module("bn" + number, torch::nn::BatchNorm2d(channels[i + 1]));
      }
    }
    fc1_ = register_module("fc1", torch::nn::Linear(channels[3] * last.area(), 512));
    fc2_ = register_module("fc2", torch::nn::Linear(512, task.classes));
    dropout_ = register_module("dropout", torch::nn::Dropout(config.dropout.value_or(0.5)));
  }

  at::Tensor forward(const at::Tensor& input) override {
    at::Tensor x = input;
    for (std::size_t i = 0; i < 3; ++i) {
      x = has_norm_ ? conv_norm_relu_pool(convs_[i], norms_[i], x)
                    : torch::max_pool2d(rectified(convs_[i](x)), 2);
    }
    x = rectified(fc1_(x.flatten(1)));
    return fc2_(dropout_(x));
  }

 private:
  bool has_norm_;
  std::array<torch::nn::Conv2d, 3> convs_{nullptr, nullptr, nullptr};
  std::array<torch::nn::BatchNorm2d, 3> norms_{nullptr, nullptr, nullptr};
  torch::nn::Linear fc1_{nullptr};
  torch::nn::Linear fc2_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
};

Result<std::unique_ptr<Model>> make_simplecnn(const config::ModelConfig& config, const Task& task) {
  KEDGE_TRY(require_images("simplecnn", task));
  const ImageSize last = KEDGE_TRY(size_after("simplecnn", task, kSimpleCnnWindows));
  return make_network_model(std::make_shared<SimpleCnn>(config, task, last), "fc2.");
}

const Models::Add kAddSimpleCnn(
    {"simplecnn",
     "3 convolutions (64-128-256) and 2 linear layers; batch_norm on or off "
     "(2.5 M parameters at 32x32)",
     make_simplecnn});
const TakesDropout kSimpleCnnTakesDropout({"simplecnn"});

}  // namespace
}  // namespace kedge::nn
