// The CIFAR-10 network of many introductions: three convolutions, two linear layers.
#include <array>
#include <memory>
#include <string>

#include <torch/types.h>

#include "nn/internal/image_layers.h"
#include "nn/internal/network.h"
#include "nn/internal/shape.h"

namespace kedge::nn {
namespace {

constexpr Window kSimpleCnnConv{.kernel = 3, .stride = 1, .padding = 1};
constexpr std::array kSimpleCnnWindows{kSimpleCnnConv, kPool2,         kSimpleCnnConv,
                                       kPool2,         kSimpleCnnConv, kPool2};

class SimpleCnn : public Network {
 public:
  SimpleCnn(const Making& making, const config::ModelConfig& config, const Signature& signature,
            ImageSize last)
      : Network(making, {.head = "fc2."}) {
    const std::array<std::int64_t, 4> channels{signature.channels, 64, 128, 256};
    for (std::size_t i = 0; i < 3; ++i) {
      add_stage(std::to_string(i + 1),
                {.in = channels[i], .out = channels[i + 1], .window = kSimpleCnnConv},
                config.batch_norm);
    }
    add_linear("fc1", fc1_, channels[3] * last.area(), 512);
    add_linear("fc2", fc2_, 512, signature.classes);
    dropout_ =
        add_layer("dropout", std::make_shared<Dropout>(making, config.dropout.value_or(0.5)));
    add_block("head", {"fc"}, [this](const Flow& flow) -> Flow {
      const at::Tensor x = rectified(fc1_->forward(flow.x.flatten(1)));
      return {fc2_->forward(dropout_->forward(x))};
    });
  }

 private:
  void add_stage(const std::string& number, const ConvShape& shape, bool has_norm) {
    if (!has_norm) {
      add_block_layer("conv" + number, std::make_shared<PooledConv>(making(), shape));
      return;
    }
    const auto conv = add_layer("conv" + number, std::make_shared<Conv2d>(making(), shape));
    const auto norm = add_layer("bn" + number, std::make_shared<BatchNorm2d>(making(), shape.out));
    add_block("conv" + number, {"conv" + number + ".", "bn" + number + "."},
              [conv, norm](const Flow& flow) -> Flow {
                return {norm->forward_conv_relu_pool(*conv, flow.x)};
              });
  }

  std::shared_ptr<Linear> fc1_;
  std::shared_ptr<Linear> fc2_;
  std::shared_ptr<Dropout> dropout_;
};

Result<std::unique_ptr<Model>> make_simplecnn(const config::ModelConfig& config,
                                              const Signature& signature, const Making& making) {
  KEDGE_TRY(require_images("simplecnn", signature));
  const ImageSize last = KEDGE_TRY(size_after("simplecnn", signature, kSimpleCnnWindows));
  return std::make_unique<SimpleCnn>(making, config, signature, last);
}

const Models::Add kAddSimpleCnn(
    {"simplecnn",
     "3 convolutions (64-128-256) and 2 linear layers; batch_norm on or off "
     "(2.5 M parameters at 32x32)",
     make_simplecnn,
     {"batch_norm", "dropout"}});

}  // namespace
}  // namespace kedge::nn
