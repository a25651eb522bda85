// A small BatchNorm network for MNIST-like images: two convolution stages, one linear layer.
#include <array>
#include <memory>

#include <torch/types.h>

#include "nn/internal/image_layers.h"
#include "nn/internal/network.h"
#include "nn/internal/shape.h"

namespace kedge::nn {
namespace {

constexpr Window kConvNetConv{.kernel = 5, .stride = 1, .padding = 2};
constexpr std::array kConvNetWindows{kConvNetConv, kPool2, kConvNetConv, kPool2};

class ConvNet : public Network {
 public:
  ConvNet(const Making& making, const Signature& signature, ImageSize last)
      : Network(making, {.head = "fc."}) {
    add_stage("layer1", signature.channels, 16);
    add_stage("layer2", 16, 32);
    add_linear("fc", fc_, 32 * last.area(), signature.classes);
    add_block("fc", {"fc."},
              [this](const Flow& flow) -> Flow { return {fc_->forward(flow.x.flatten(1))}; });
  }

 private:
  void add_stage(const std::string& name, std::int64_t in, std::int64_t out) {
    const ConvShape shape{.in = in, .out = out, .window = kConvNetConv};
    const auto conv = add_layer(name + ".0", std::make_shared<Conv2d>(making(), shape));
    const auto norm = add_layer(name + ".1", std::make_shared<BatchNorm2d>(making(), out));
    add_block(name, {name + "."}, [conv, norm](const Flow& flow) -> Flow {
      return {torch::max_pool2d(norm->forward_relu(conv->forward(flow.x)), kPool2.kernel)};
    });
  }

  std::shared_ptr<Linear> fc_;
};

Result<std::unique_ptr<Model>> make_convnet(const config::ModelConfig& /*config*/,
                                            const Signature& signature, const Making& making) {
  KEDGE_TRY(require_images("convnet", signature));
  const ImageSize last = KEDGE_TRY(size_after("convnet", signature, kConvNetWindows));
  return std::make_unique<ConvNet>(making, signature, last);
}

const Models::Add kAddConvNet({"convnet",
                               "2 convolutions (16-32) with BatchNorm and 1 linear layer (29,034 "
                               "parameters at 28x28)",
                               make_convnet});

}  // namespace
}  // namespace kedge::nn
