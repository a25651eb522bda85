// The cat/dog network: three convolutions with stride and pooling, three linear layers.
#include <array>
#include <memory>

#include <torch/types.h>

#include "nn/internal/image_layers.h"
#include "nn/internal/network.h"
#include "nn/internal/shape.h"

namespace kedge::nn {
namespace {

constexpr Window kConv12{.kernel = 5, .stride = 2, .padding = 1};
constexpr Window kConv3{.kernel = 3, .stride = 1, .padding = 1};
constexpr std::array kCatDogWindows{kConv12, kPool2, kConv12, kPool2, kConv3, kPool2};

class CatDog : public Network {
 public:
  CatDog(const Making& making, const Signature& signature, ImageSize last)
      : Network(making, {.head = "fc3."}) {
    add_block_layer("conv1",
                    std::make_shared<PooledConv>(
                        making, ConvShape{.in = signature.channels, .out = 16, .window = kConv12}));
    add_block_layer("conv2", std::make_shared<PooledConv>(
                                 making, ConvShape{.in = 16, .out = 32, .window = kConv12}));
    add_block_layer("conv3", std::make_shared<PooledConv>(
                                 making, ConvShape{.in = 32, .out = 64, .window = kConv3}));
    add_linear("fc1", fc1_, 64 * last.area(), 500);
    add_linear("fc2", fc2_, 500, 50);
    add_linear("fc3", fc3_, 50, signature.classes);
    add_block("head", {"fc"}, [this](const Flow& flow) -> Flow {
      const at::Tensor x = rectified(fc1_->forward(flow.x.flatten(1)));
      return {fc3_->forward(rectified(fc2_->forward(x)))};
    });
  }

 private:
  std::shared_ptr<Linear> fc1_;
  std::shared_ptr<Linear> fc2_;
  std::shared_ptr<Linear> fc3_;
};

Result<std::unique_ptr<Model>> make_catdog(const config::ModelConfig& /*config*/,
                                           const Signature& signature, const Making& making) {
  KEDGE_TRY(require_images("catdog", signature));
  const ImageSize last = KEDGE_TRY(size_after("catdog", signature, kCatDogWindows));
  return std::make_unique<CatDog>(making, signature, last);
}

const Models::Add kAddCatDog(
    {"catdog",
     "3 strided convolutions (16-32-64) and 3 linear layers (1.2 M parameters "
     "at 224x224)",
     make_catdog});

}  // namespace
}  // namespace kedge::nn
