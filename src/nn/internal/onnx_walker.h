// Walks the recorded graph of a network and writes it as ONNX.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include "core/result.h"
#include "nn/internal/onnx_graph.h"
#include "nn/model.h"

namespace torch::jit {
struct Graph;
struct Node;
struct Value;
}  // namespace torch::jit

namespace kedge::nn {

class OnnxWalker {
 public:
  // Tensors of the model become initializers under their own names, at their first use.
  OnnxWalker(const Model& model, OnnxGraph& onnx);

  // The graph takes (module, input), mutates nothing and has its weights as constants. Returns its
  // one output.
  Result<OnnxValue> walk(const torch::jit::Graph& graph, const OnnxValue& input);

 private:
  friend class OnnxOp;

  Result<void> add(const torch::jit::Node& node);
  Result<void> add_transposed(const torch::jit::Node& node);
  Result<void> translate(const torch::jit::Node& node);

  // A constant; null where the value is computed.
  const c10::IValue* known(const torch::jit::Value& value);

  // Null when the value is no tensor that ONNX has.
  const OnnxValue* tensor(const torch::jit::Value& value);
  const OnnxValue* add_initializer(const torch::jit::Value& value, const at::Tensor& tensor);

  OnnxGraph& onnx_;
  NamedTensors model_tensors_;
  std::map<std::string, OnnxValue> written_;  // tensors of the model
  std::map<const torch::jit::Value*, c10::IValue> known_;
  std::map<const torch::jit::Value*, OnnxValue> values_;
  std::map<const torch::jit::Value*, std::vector<OnnxValue>> lists_;
  std::map<const torch::jit::Value*, OnnxValue> sources_;  // of aten::t, not yet a node
};

}  // namespace kedge::nn
