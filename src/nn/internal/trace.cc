#include "nn/internal/trace.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/script.h>
#include <torch/types.h>
#include <torch/utils.h>

namespace kedge::nn {
namespace {

// The hierarchy of modules that the dots in tensor names stand for.
class Tree {
 public:
  void add(std::string_view name, const at::Tensor& tensor, bool is_parameter) {
    const std::size_t dot = name.find('.');
    if (dot != std::string_view::npos) {
      child(name.substr(0, dot)).add(name.substr(dot + 1), tensor, is_parameter);
    } else {
      (is_parameter ? parameters_ : buffers_).emplace_back(name, tensor);
    }
  }

  torch::jit::Module make(const c10::QualifiedName& name,
                          const std::shared_ptr<torch::jit::CompilationUnit>& unit) const {
    torch::jit::Module module(name, unit, /*shouldMangle=*/true);
    for (const auto& [key, tensor] : parameters_) {
      module.register_parameter(key, tensor, /*is_buffer=*/false);
    }
    for (const auto& [key, tensor] : buffers_) {
      module.register_buffer(key, tensor);
    }
    for (const auto& [key, child] : children_) {
      module.register_module(key, child->make(name, unit));
    }
    module.register_attribute("training", c10::BoolType::get(), false);
    return module;
  }

 private:
  Tree& child(std::string_view name) {
    for (const auto& [key, tree] : children_) {
      if (key == name) {
        return *tree;
      }
    }
    return *children_.emplace_back(name, std::make_unique<Tree>()).second;
  }

  NamedTensors parameters_;
  NamedTensors buffers_;
  std::vector<std::pair<std::string, std::unique_ptr<Tree>>> children_;  // as registered
};

}  // namespace

torch::jit::Module trace(Model& model, const Signature& signature) {
  constexpr std::int64_t kBatch = 2;
  const torch::NoGradGuard no_grad;
  model.set_training(false);
  Tree tree;
  for (const auto& [name, tensor] : model.parameters()) {
    tree.add(name, tensor, /*is_parameter=*/true);
  }
  for (const auto& [name, tensor] : model.buffers()) {
    tree.add(name, tensor, /*is_parameter=*/false);
  }
  const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  torch::jit::Module module = tree.make("__torch__.kedge.Network", unit);

  const auto forward = [&](torch::jit::Stack inputs) -> torch::jit::Stack {
    return {model.forward(inputs.at(0).toTensor())};
  };
  const auto no_names = [](const at::Tensor&) { return std::string(); };
  auto [state, outputs] =
      torch::jit::tracer::trace({signature.zeros(kBatch)}, forward, no_names, /*strict=*/true,
                                /*force_outplace=*/false, &module, {"input"});
  const c10::QualifiedName method(*module.type()->name(), "forward");
  module.type()->addMethod(unit->create_function(method, state->graph));
  return module;
}

}  // namespace kedge::nn
