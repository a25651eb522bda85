// A multi-layer perceptron over flattened images.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <torch/types.h>

#include "nn/internal/image_layers.h"
#include "nn/internal/network.h"
#include "nn/internal/shape.h"

namespace kedge::nn {
namespace {

class Mlp : public Network {
 public:
  Mlp(const Making& making, const config::ModelConfig& config, const Signature& signature)
      : Network(making, {.head = layer_name(config.hidden.size()) + "."}),
        linears_(config.hidden.size() + 1) {
    dropout_ =
        add_layer("dropout", std::make_shared<Dropout>(making, config.dropout.value_or(0.0)));
    std::int64_t in = signature.channels * signature.height * signature.width;
    for (std::size_t i = 0; i < linears_.size(); ++i) {
      const bool is_last = i + 1 == linears_.size();
      const std::int64_t out = is_last ? signature.classes : config.hidden[i];
      add_linear(layer_name(i), linears_[i], in, out);
      add_block(layer_name(i), {layer_name(i) + "."}, [this, i, is_last](const Flow& flow) -> Flow {
        const at::Tensor x = linears_[i]->forward(i == 0 ? flow.x.flatten(1) : flow.x);
        return {is_last ? x : dropout_->forward(rectified(x))};
      });
      in = out;
    }
  }

 private:
  static std::string layer_name(std::size_t i) { return fmt::format("layers.{}", i); }

  std::shared_ptr<Dropout> dropout_;
  std::vector<std::shared_ptr<Linear>> linears_;  // does not grow: each is a slot
};

Result<std::unique_ptr<Model>> make_mlp(const config::ModelConfig& config,
                                        const Signature& signature, const Making& making) {
  KEDGE_TRY(require_images("mlp", signature));
  for (const std::int64_t width : config.hidden) {
    if (width < 1) {
      return fail(ErrorKind::Usage,
                  fmt::format("mlp: a hidden layer of width {} cannot be made", width),
                  "model.hidden lists the widths, for example [512, 256]");
    }
  }
  return std::make_unique<Mlp>(making, config, signature);
}

const Models::Add kAddMlp({"mlp",
                           "linear layers with ReLU over the flattened image; model.hidden",
                           make_mlp,
                           {"hidden", "dropout"}});

}  // namespace
}  // namespace kedge::nn
