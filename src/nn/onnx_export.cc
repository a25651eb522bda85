#include "nn/onnx_export.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/freeze_module.h>
#include <torch/csrc/jit/passes/remove_dropout.h>
#include <torch/csrc/jit/passes/remove_mutation.h>
#include <torch/types.h>

#include "nn/internal/onnx_graph.h"
#include "nn/internal/onnx_op.h"
#include "nn/internal/onnx_walker.h"
#include "nn/internal/trace.h"
#include "nn/script_model.h"
#include "nn/torch_error.h"

namespace kedge::nn {
namespace {

// A protobuf message counts its bytes in an int.
constexpr std::size_t kMostBytes = std::numeric_limits<std::int32_t>::max();

Result<void> require_size(std::size_t bytes) {
  if (bytes <= kMostBytes) {
    return {};
  }
  return fail(ErrorKind::Usage,
              fmt::format("the model has {:.1f} GiB, but an ONNX file holds less than 2 GiB",
                          static_cast<double>(bytes) / (1 << 30)),
              kOnnxHint);
}

std::size_t tensor_bytes(const Model& model) {
  std::size_t bytes = 0;
  for (const NamedTensors& list : {model.parameters(), model.buffers()}) {
    for (const auto& [name, tensor] : list) {
      bytes += tensor.nbytes();
    }
  }
  return bytes;
}

torch::jit::Module module_of(Model& model, const Signature& signature) {
  // A module from Python still has its branches on `training`; freezing resolves them.
  if (auto* script = dynamic_cast<ScriptModel*>(&model)) {
    script->set_training(false);
    return torch::jit::freeze_module(script->module());
  }
  return trace(model, signature);
}

struct Ends {
  OnnxValue input;
  std::vector<OnnxDimension> input_shape;
  std::vector<OnnxDimension> output_shape;
};

// The batch is of any size, and so is a row of tokens.
Ends ends_of(const Signature& signature) {
  const auto dimensions = [](at::IntArrayRef shape, bool has_tokens) {
    std::vector<OnnxDimension> all = {{.name = "batch"}};
    for (const std::int64_t size : shape.slice(1)) {
      all.push_back({.name = "", .size = size});
    }
    if (has_tokens) {
      all[1] = {.name = "tokens"};
    }
    return all;
  };
  const at::Tensor input = signature.zeros(1);
  return {.input = {kOnnxInput, input.scalar_type(), input.dim()},
          .input_shape = dimensions(input.sizes(), signature.takes_tokens()),
          .output_shape = dimensions(signature.scores_shape(1), signature.classes == 0)};
}

// Tensors become constants; without this, the analysis of mutation takes any two of them for one.
// Freezing would do it too, but merges equal tensors, which loses names.
void resolve_attributes(const std::shared_ptr<torch::jit::Graph>& graph,
                        const torch::jit::Module& module) {
  std::map<const torch::jit::Value*, c10::IValue> owners{{graph->inputs()[0], module._ivalue()}};
  for (torch::jit::Node* node : graph->nodes()) {
    if (node->kind() != torch::jit::prim::GetAttr || !owners.contains(node->input())) {
      continue;
    }
    const c10::IValue attribute =
        owners.at(node->input()).toObjectRef().getAttr(node->s(torch::jit::attr::name));
    if (attribute.isTensor()) {
      const torch::jit::WithInsertPoint here(node);
      node->output()->replaceAllUsesWith(graph->insertConstant(attribute.toTensor().detach()));
    } else {
      owners.emplace(node->output(), attribute);
    }
  }
  torch::jit::EliminateDeadCode(graph);
}

Result<std::string> render_onnx(Model& model, const Signature& signature,
                                const std::string& metadata) {
  const torch::jit::Module module = module_of(model, signature);
  std::shared_ptr<torch::jit::Graph> graph = module.get_method("forward").graph();
  resolve_attributes(graph, module);
  // In-place operations become ordinary ones where no other name for the tensor sees the change;
  // the others stay, and the walk refuses them. Dropout goes first: it hands its input through,
  // which the analysis does not know.
  torch::jit::removeDropout(graph);
  torch::jit::RemoveTensorMutation(graph);
  const Ends ends = ends_of(signature);
  OnnxGraph onnx;
  onnx.add_input(ends.input.type, ends.input_shape);
  const OnnxValue output = KEDGE_TRY(OnnxWalker(model, onnx).walk(*graph, ends.input));
  if (output.type != at::kFloat ||
      output.rank != static_cast<std::int64_t>(ends.output_shape.size())) {
    return fail(ErrorKind::Usage,
                fmt::format("ONNX export needs a model that gives float scores of rank {}, not {}",
                            ends.output_shape.size(), output.rank),
                kOnnxHint);
  }
  onnx.add_output(output, ends.output_shape);
  return onnx.render(kOnnxMetadataKey, metadata);
}

}  // namespace

Result<void> write_onnx(Model& model, const Signature& signature, const std::string& metadata,
                        const Path& file) {
  const bool is_on_cpu = std::ranges::all_of(
      model.parameters(), [](const auto& named) { return named.second.is_cpu(); });
  KEDGE_CHECK(is_on_cpu, "models are exported from the CPU");
  KEDGE_TRY(require_size(tensor_bytes(model)));
  std::string bytes;
  try {
    bytes = KEDGE_TRY(render_onnx(model, signature, metadata));
  } catch (const std::exception& error) {
    return fail(ErrorKind::Usage,
                fmt::format("the model cannot be written as ONNX: {}", torch_message(error)),
                kOnnxHint);
  }
  KEDGE_TRY(require_size(bytes.size()));
  return write_file_atomic(file, bytes);
}

}  // namespace kedge::nn
