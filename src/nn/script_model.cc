#include "nn/script_model.h"

#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/script.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "core/log.h"
#include "nn/internal/network.h"
#include "nn/internal/shape.h"
#include "nn/torch_error.h"

namespace kedge::nn {
namespace {

template <typename List>
NamedTensors scripted_tensors(const List& tensors) {
  NamedTensors list;
  for (const auto& item : tensors) {
    list.emplace_back(item.name, item.value);
  }
  return without_repeats(std::move(list));
}

Error wrong_output(const Path& file, const std::string& got, at::IntArrayRef expected) {
  return {ErrorKind::Usage,
          fmt::format("model.file {} gives {} where the data ask for scores of shape {}",
                      file.string(), got, shape_text(expected)),
          "change the module's output layer, or model.classes / model.vocab, so that they agree"};
}

Result<void> try_on_zeros(torch::jit::Module& module, const Path& file,
                          const Signature& signature) {
  constexpr std::int64_t kBatch = 2;
  const at::Tensor input = signature.zeros(kBatch);
  const std::vector<std::int64_t> expected = signature.scores_shape(kBatch);
  const torch::NoGradGuard no_grad;
  try {
    module.eval();
    const torch::jit::IValue output = module.forward({input});
    if (!output.isTensor()) {
      return std::unexpected(wrong_output(file, "a " + output.tagKind(), expected));
    }
    if (output.toTensor().sizes() != at::IntArrayRef(expected)) {
      return std::unexpected(
          wrong_output(file, "shape " + shape_text(output.toTensor().sizes()), expected));
    }
    module.train();
  } catch (const std::exception& error) {
    return fail(ErrorKind::Usage,
                fmt::format("model.file {} fails on an input of shape {}: {}", file.string(),
                            shape_text(input.sizes()), torch_message(error)),
                "the module must take one batch, images [N, C, H, W] or tokens [N, T]");
  }
  return {};
}

}  // namespace

ScriptModel::ScriptModel(const torch::jit::Module& module)
    : names_({.head = "", .tables = {"*emb*", "*wte.*", "*wpe.*"}}),
      module_(std::make_unique<torch::jit::Module>(module)) {
  if (const NamedTensors own = parameters(); !own.empty()) {
    const std::string& last = own.back().first;
    names_.head = last.substr(0, last.rfind('.') + 1);
  }
}

ScriptModel::~ScriptModel() = default;

at::Tensor ScriptModel::forward(const ModelInput& input) {
  return module_->forward({input.x}).toTensor();
}

NamedTensors ScriptModel::parameters() const {
  return scripted_tensors(module_->named_parameters());
}

NamedTensors ScriptModel::buffers() const {
  return scripted_tensors(module_->named_buffers());
}

void ScriptModel::set_training(bool is_training) {
  module_->train(is_training);
}

void ScriptModel::to(at::Device device) {
  module_->to(device);
}

void ScriptModel::to(at::ScalarType type) {
  convert_floats(parameters(), type);
  convert_floats(buffers(), type);
}

Result<std::unique_ptr<Model>> load_script_model(const Path& file, const Signature& signature) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    return fail(ErrorKind::NotFound, fmt::format("model.file {} does not exist", file.string()),
                "write it in Python with torch.jit.save(torch.jit.script(module), path)");
  }
  torch::jit::Module module;
  try {
    module = torch::jit::load(file.string(), at::Device(at::kCPU));
  } catch (const std::exception& exception) {
    return fail(ErrorKind::Usage,
                fmt::format("model.file {} is not a TorchScript file: {}", file.string(),
                            torch_message(exception)),
                "write it in Python with torch.jit.save(torch.jit.script(module), path); a state "
                "dict belongs in model.weights");
  }
  auto model = std::make_unique<ScriptModel>(module);
  if (model->parameters().empty()) {
    return fail(ErrorKind::Usage,
                fmt::format("model.file {} has no parameters to train", file.string()),
                "save the module before torch.jit.freeze");
  }
  KEDGE_TRY(try_on_zeros(module, file, signature));
  return model;
}

// torch.jit.trace writes the mode of that moment into the graph: train() does not change it later.
void warn_if_traced_in_eval(Model& model, const Path& file) {
  auto* script = dynamic_cast<ScriptModel*>(&model);
  if (script == nullptr) {
    return;
  }
  const std::array<std::pair<const char*, std::size_t>, 2> kModes = {
      {{"aten::batch_norm", 5}, {"aten::dropout", 2}}};
  std::set<std::string> frozen;
  for (const torch::jit::Module& part : script->module().modules()) {
    const auto forward = part.find_method("forward");
    if (!forward) {
      continue;
    }
    for (const torch::jit::Node* node : forward->graph()->nodes()) {
      for (const auto& [operation, training] : kModes) {
        if (node->kind() != c10::Symbol::fromQualString(operation)) {
          continue;
        }
        const auto mode = torch::jit::toIValue(node->input(training));
        if (mode && mode->isBool() && !mode->toBool()) {
          frozen.insert(operation == std::string_view("aten::dropout") ? "dropout"
                                                                       : "batch normalization");
        }
      }
    }
  }
  if (!frozen.empty()) {
    warn(
        "model.file {} was traced in eval(): training changes nothing in how it does {}; trace it "
        "after module.train(), or use torch.jit.script",
        file.string(), fmt::join(frozen, " and "));
  }
}

}  // namespace kedge::nn
