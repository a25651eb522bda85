#include "nn/internal/network.h"

#include <unordered_set>
#include <utility>

#include <torch/types.h>

namespace kedge::nn {
namespace {

NamedTensors listed(const torch::OrderedDict<std::string, at::Tensor>& tensors) {
  NamedTensors list;
  list.reserve(tensors.size());
  for (const auto& item : tensors) {
    list.emplace_back(item.key(), item.value());
  }
  return without_repeats(std::move(list));
}

class NetworkModel : public Model {
 public:
  NetworkModel(std::shared_ptr<Network> network, std::string head)
      : network_(std::move(network)), head_(std::move(head)) {}

  at::Tensor forward(const at::Tensor& input) override { return network_->forward(input); }

  NamedTensors parameters() const override { return listed(network_->named_parameters()); }

  NamedTensors buffers() const override { return listed(network_->named_buffers()); }

  void set_training(bool is_training) override { network_->train(is_training); }

  void to(at::Device device) override { network_->to(device); }

  void to(at::ScalarType type) override {
    convert_floats(parameters(), type);
    convert_floats(buffers(), type);
  }

  std::int64_t wants_images() const override { return network_->wants_images(); }

  void look_at(const at::Tensor& images) override { network_->look_at(images); }

  std::string head() const override { return head_; }

 private:
  std::shared_ptr<Network> network_;  // torch::nn modules are held by shared_ptr
  std::string head_;
};

}  // namespace

std::unique_ptr<Model> make_network_model(std::shared_ptr<Network> network, std::string head) {
  return std::make_unique<NetworkModel>(std::move(network), std::move(head));
}

NamedTensors without_repeats(NamedTensors tensors) {
  std::unordered_set<const c10::TensorImpl*> seen;
  std::erase_if(tensors, [&](const auto& named) {
    return !seen.insert(named.second.unsafeGetTensorImpl()).second;
  });
  return tensors;
}

void convert_floats(const NamedTensors& tensors, at::ScalarType type) {
  for (const auto& [name, tensor] : tensors) {
    if (tensor.is_floating_point()) {
      tensor.set_data(tensor.detach().to(type));
    }
  }
}

}  // namespace kedge::nn
