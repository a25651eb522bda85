// The network of PyTorch's MNIST example. Its scores are log-probabilities: nll takes them as they
// are, and cross_entropy gives the same, because log_softmax of log-probabilities changes nothing.
#include <array>
#include <memory>

#include <torch/types.h>

#include "nn/internal/image_layers.h"
#include "nn/internal/network.h"
#include "nn/internal/shape.h"

namespace kedge::nn {
namespace {

constexpr Window kMnistNetConv{.kernel = 5};
constexpr std::array kMnistNetWindows{kMnistNetConv, kPool2, kMnistNetConv, kPool2};

class MnistNet : public Network {
 public:
  MnistNet(const Making& making, const Signature& signature, ImageSize last)
      : Network(making, {.head = "fc2."}) {
    add_block_layer(
        "conv1",
        std::make_shared<PooledConv>(
            making, ConvShape{.in = signature.channels, .out = 20, .window = kMnistNetConv}));
    add_block_layer("conv2", std::make_shared<PooledConv>(
                                 making, ConvShape{.in = 20, .out = 50, .window = kMnistNetConv}));
    add_linear("fc1", fc1_, 50 * last.area(), 500);
    add_linear("fc2", fc2_, 500, signature.classes);
    add_block("head", {"fc"}, [this](const Flow& flow) -> Flow {
      const at::Tensor x = rectified(fc1_->forward(flow.x.flatten(1)));
      return {torch::log_softmax(fc2_->forward(x), 1)};
    });
  }

 private:
  std::shared_ptr<Linear> fc1_;
  std::shared_ptr<Linear> fc2_;
};

Result<std::unique_ptr<Model>> make_mnistnet(const config::ModelConfig& /*config*/,
                                             const Signature& signature, const Making& making) {
  KEDGE_TRY(require_images("mnistnet", signature));
  const ImageSize last = KEDGE_TRY(size_after("mnistnet", signature, kMnistNetWindows));
  return std::make_unique<MnistNet>(making, signature, last);
}

const Models::Add kAddMnistNet(
    {"mnistnet",
     "2 convolutions (20-50) and 2 linear layers, ends in log_softmax (431,080 "
     "parameters at 28x28)",
     make_mnistnet});

}  // namespace
}  // namespace kedge::nn
