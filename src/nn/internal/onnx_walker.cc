#include "nn/internal/onnx_walker.h"

#include <algorithm>

#include <fmt/format.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/types.h>

#include "nn/internal/onnx_op.h"

namespace kedge::nn {
namespace {

const OnnxTranslation* find_translation(std::string_view kind) {
  for (const OnnxTranslations* table : {&onnx_layers(), &onnx_shapes(), &onnx_sequence()}) {
    if (const auto found = table->find(kind); found != table->end()) {
      return &found->second;
    }
  }
  return nullptr;
}

bool is_same(const at::Tensor& a, const at::Tensor& b) {
  return a.const_data_ptr() == b.const_data_ptr() && a.scalar_type() == b.scalar_type() &&
         a.sizes() == b.sizes() && a.strides() == b.strides();
}

}  // namespace

OnnxWalker::OnnxWalker(const Model& model, OnnxGraph& onnx)
    : onnx_(onnx), model_tensors_(model.parameters()) {
  for (auto& buffer : model.buffers()) {
    model_tensors_.push_back(std::move(buffer));
  }
  // A module may call a tensor what the file calls its ends; such a tensor loses its name.
  std::erase_if(model_tensors_, [](const auto& named) {
    return named.first == kOnnxInput || named.first == kOnnxOutput;
  });
}

Result<OnnxValue> OnnxWalker::walk(const torch::jit::Graph& graph, const OnnxValue& input) {
  KEDGE_CHECK(graph.inputs().size() == 2, "a module's forward takes itself and one input");
  values_.emplace(graph.inputs()[1], input);
  for (const torch::jit::Node* node : graph.nodes()) {
    KEDGE_TRY(add(*node));
  }
  const OnnxValue* output = graph.outputs().size() == 1 ? tensor(*graph.outputs()[0]) : nullptr;
  if (output == nullptr) {
    return fail(ErrorKind::Usage, "ONNX export needs a model that gives one tensor", kOnnxHint);
  }
  return *output;
}

Result<void> OnnxWalker::add(const torch::jit::Node& node) {
  using torch::jit::prim::Constant;
  using torch::jit::prim::ListConstruct;
  using torch::jit::prim::ListUnpack;
  if (node.kind() == Constant) {
    if (auto value = torch::jit::toIValue(node.output())) {
      known_.emplace(node.output(), std::move(*value));
    }
    return {};
  }
  if (node.kind() == ListConstruct) {
    return {};  // read where it is used
  }
  if (node.kind() == ListUnpack) {
    const auto list = lists_.find(node.input());
    if (list != lists_.end() && list->second.size() == node.outputs().size()) {
      for (std::size_t i = 0; i < list->second.size(); ++i) {
        values_.emplace(node.outputs()[i], list->second[i]);
      }
      return {};
    }
  }
  if (node.kind() == torch::jit::aten::t) {
    return add_transposed(node);
  }
  return translate(node);
}

Result<void> OnnxWalker::add_transposed(const torch::jit::Node& node) {
  OnnxOp op(*this, node);
  const OnnxValue source = KEDGE_TRY(op.tensor(0));
  if (source.rank != 2) {
    return op.refuse("of a vector");
  }
  sources_.emplace(node.output(), source);
  return {};
}

Result<void> OnnxWalker::translate(const torch::jit::Node& node) {
  const std::string kind = node.kind().toQualString();
  const OnnxTranslation* translation = find_translation(kind);
  if (translation == nullptr || node.outputs().size() != 1) {
    return fail(ErrorKind::Usage, fmt::format("ONNX export does not know the operation {}", kind),
                kOnnxHint);
  }
  OnnxOp op(*this, node);
  std::vector<OnnxValue> results = KEDGE_TRY((*translation)(op));
  if (node.output()->type()->kind() == c10::TypeKind::ListType) {
    lists_.emplace(node.output(), std::move(results));
  } else {
    KEDGE_CHECK(results.size() == 1, "an operation gives one tensor or a list");
    values_.emplace(node.output(), std::move(results.front()));
  }
  return {};
}

const c10::IValue* OnnxWalker::known(const torch::jit::Value& value) {
  const auto found = known_.find(&value);
  return found == known_.end() ? nullptr : &found->second;
}

const OnnxValue* OnnxWalker::tensor(const torch::jit::Value& value) {
  if (const auto found = values_.find(&value); found != values_.end()) {
    return &found->second;
  }
  if (const auto found = sources_.find(&value); found != sources_.end()) {
    const OnnxValue& source = found->second;
    const std::string name = onnx_.add({.type = "Transpose",
                                        .inputs = {source.name},
                                        .attributes = {ints_attribute("perm", {1, 0})}});
    return &values_.emplace(&value, OnnxValue{name, source.type, source.rank}).first->second;
  }
  const c10::IValue* constant = known(value);
  if (constant == nullptr || !constant->isTensor()) {
    return nullptr;
  }
  return add_initializer(value, constant->toTensor());
}

const OnnxValue* OnnxWalker::add_initializer(const torch::jit::Value& value,
                                             const at::Tensor& tensor) {
  if (!tensor.defined() ||
      (tensor.scalar_type() != at::kFloat && tensor.scalar_type() != at::kLong)) {
    return nullptr;
  }
  const auto named = std::ranges::find_if(
      model_tensors_, [&](const auto& candidate) { return is_same(candidate.second, tensor); });
  if (named == model_tensors_.end()) {
    const OnnxValue added{onnx_.add_initializer(tensor), tensor.scalar_type(), tensor.dim()};
    return &values_.emplace(&value, added).first->second;
  }
  const auto [written, is_new] = written_.try_emplace(named->first);
  if (is_new) {
    onnx_.add_initializer(tensor, named->first);
    written->second = {named->first, tensor.scalar_type(), tensor.dim()};
  }
  return &written->second;
}

}  // namespace kedge::nn
