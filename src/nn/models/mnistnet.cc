// The network of PyTorch's MNIST example. Its scores are log-probabilities: nll takes them as they
// are, and cross_entropy gives the same, because log_softmax of log-probabilities changes nothing.
#include <array>

#include "nn/internal/modules.h"
#include "nn/internal/network.h"
#include "nn/internal/shape.h"

namespace kedge::nn {
namespace {

constexpr Window kMnistNetConv{.kernel = 5};
constexpr std::array kMnistNetWindows{kMnistNetConv, kPool2, kMnistNetConv, kPool2};

class MnistNet : public Network {
 public:
  MnistNet(const Task& task, ImageSize last) {
    conv1_ = register_module("conv1", torch::nn::Conv2d(task.channels, 20, kMnistNetConv.kernel));
    conv2_ = register_module("conv2", torch::nn::Conv2d(20, 50, kMnistNetConv.kernel));
    fc1_ = register_module("fc1", torch::nn::Linear(50 * last.area(), 500));
    fc2_ = register_module("fc2", torch::nn::Linear(500, task.classes));
  }

  at::Tensor forward(const at::Tensor& input) override {
    at::Tensor x = torch::max_pool2d(rectified(conv1_(input)), 2);
    x = torch::max_pool2d(rectified(conv2_(x)), 2);
    x = rectified(fc1_(x.flatten(1)));
    return torch::log_softmax(fc2_(x), 1);
  }

 private:
  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::Conv2d conv2_{nullptr};
  torch::nn::Linear fc1_{nullptr};
  torch::nn::Linear fc2_{nullptr};
};

Result<std::unique_ptr<Model>> make_mnistnet(const config::ModelConfig& /*config*/,
                                             const Task& task) {
  KEDGE_TRY(require_images("mnistnet", task));
  const ImageSize last = KEDGE_TRY(size_after("mnistnet", task, kMnistNetWindows));
  return make_network_model(std::make_shared<MnistNet>(task, last), "fc2.");
}

const Models::Add kAddMnistNet(
    {"mnistnet",
     "2 convolutions (20-50) and 2 linear layers, ends in log_softmax (431,080 "
     "parameters at 28x28)",
     make_mnistnet});

}  // namespace
}  // namespace kedge::nn
