// A multi-layer perceptron over flattened images.
#include <vector>

#include <fmt/format.h>

#include "nn/dropout.h"
#include "nn/internal/modules.h"
#include "nn/internal/network.h"
#include "nn/internal/shape.h"

namespace kedge::nn {
namespace {

class Mlp : public Network {
 public:
  Mlp(const config::ModelConfig& config, const Task& task) {
    layers_ = register_module("layers", torch::nn::ModuleList());
    dropout_ = register_module("dropout", torch::nn::Dropout(config.dropout.value_or(0.0)));
    std::int64_t in = task.channels * task.height * task.width;
    for (const std::int64_t width : config.hidden) {
      add_linear(in, width);
      in = width;
    }
    add_linear(in, task.classes);
  }

  at::Tensor forward(const at::Tensor& input) override {
    at::Tensor x = input.flatten(1);
    for (std::size_t i = 0; i + 1 < linears_.size(); ++i) {
      x = dropout_(rectified(linears_[i](x)));
    }
    return linears_.back()(x);
  }

 private:
  void add_linear(std::int64_t in, std::int64_t out) {
    linears_.emplace_back(in, out);
    layers_->push_back(linears_.back());
  }

  torch::nn::ModuleList layers_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
  std::vector<torch::nn::Linear> linears_;
};

Result<std::unique_ptr<Model>> make_mlp(const config::ModelConfig& config, const Task& task) {
  KEDGE_TRY(require_images("mlp", task));
  for (const std::int64_t width : config.hidden) {
    if (width < 1) {
      return fail(ErrorKind::Usage,
                  fmt::format("mlp: a hidden layer of width {} cannot be made", width),
                  "model.hidden lists the widths, for example [512, 256]");
    }
  }
  return make_network_model(std::make_shared<Mlp>(config, task),
                            fmt::format("layers.{}.", config.hidden.size()));
}

const Models::Add kAddMlp({"mlp", "linear layers with ReLU over the flattened image; model.hidden",
                           make_mlp});
const TakesDropout kMlpTakesDropout({"mlp"});

}  // namespace
}  // namespace kedge::nn
