#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include <torch/types.h>

#include "nn/internal/onnx_op.h"

namespace kedge::nn {
namespace {

using Values = std::vector<OnnxValue>;
using Ints = std::vector<std::int64_t>;

// layer_norm(input, normalized_shape, weight, bias, eps, cudnn)
Result<Values> layer_norm(OnnxOp& op) {
  const OnnxValue input = KEDGE_TRY(op.tensor(0));
  if (op.is_none(2) || op.is_none(3)) {
    return op.refuse("without weights");
  }
  const auto axes = static_cast<std::int64_t>(KEDGE_TRY(op.integers(1)).size());
  const std::string name = op.graph().add(
      {.type = "LayerNormalization",
       .inputs = {input.name, KEDGE_TRY(op.tensor(2)).name, KEDGE_TRY(op.tensor(3)).name},
       .attributes = {int_attribute("axis", -axes),
                      float_attribute("epsilon", KEDGE_TRY(op.real(4)))}});
  return Values{{name, input.type, input.rank}};
}

// embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse)
Result<Values> embedding(OnnxOp& op) {
  const OnnxValue weight = KEDGE_TRY(op.tensor(0));
  const OnnxValue indices = KEDGE_TRY(op.tensor(1));
  if (indices.type != at::kLong) {
    return op.refuse("of indices that are not int64");
  }
  return Values{{op.graph().add({.type = "Gather", .inputs = {weight.name, indices.name}}),
                 weight.type, indices.rank + 1}};
}

// gelu(input, approximate); opset 17 has no Gelu.
Result<Values> gelu(OnnxOp& op) {
  const OnnxValue x = KEDGE_TRY(op.tensor(0));
  const std::string approximation = KEDGE_TRY(op.text(1));
  OnnxGraph& graph = op.graph();
  const auto mul = [&](const std::string& a, const std::string& b) {
    return graph.add({.type = "Mul", .inputs = {a, b}});
  };
  const auto add = [&](const std::string& a, const std::string& b) {
    return graph.add({.type = "Add", .inputs = {a, b}});
  };
  std::string curve;
  if (approximation == "none") {  // erf(x / sqrt(2))
    curve = graph.add(
        {.type = "Erf", .inputs = {mul(x.name, graph.scalar(1.0 / std::numbers::sqrt2))}});
  } else if (approximation == "tanh") {  // tanh(sqrt(2 / pi) (x + 0.044715 x^3))
    const std::string cube = mul(mul(x.name, x.name), x.name);
    const std::string sum = add(x.name, mul(cube, graph.scalar(0.044715)));
    const double slope = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    curve = graph.add({.type = "Tanh", .inputs = {mul(sum, graph.scalar(slope))}});
  } else {
    return op.refuse("with approximation " + approximation);
  }
  const std::string half = mul(x.name, graph.scalar(0.5));
  return Values{{mul(half, add(curve, graph.scalar(1.0))), x.type, x.rank}};
}

// ones_like(input, dtype, layout, device, pin_memory, memory_format)
Result<Values> ones_like(OnnxOp& op) {
  const OnnxValue input = KEDGE_TRY(op.tensor(0));
  if (!op.is_none(1)) {
    return op.refuse("with a type");
  }
  OnnxGraph& graph = op.graph();
  const std::string shape = graph.add({.type = "Shape", .inputs = {input.name}});
  const std::string name =
      graph.add({.type = "ConstantOfShape",
                 .inputs = {shape},
                 .attributes = {tensor_attribute("value", torch::ones({1}, input.type))}});
  return Values{{name, input.type, input.rank}};
}

// cumsum(input, dim, dtype)
Result<Values> cumsum(OnnxOp& op) {
  const OnnxValue input = KEDGE_TRY(op.tensor(0));
  if (!op.is_none(2)) {
    return op.refuse("with a type");
  }
  const std::string axis =
      op.graph().scalar(static_cast<double>(KEDGE_TRY(op.integer(1))), at::kLong);
  return Values{
      {op.graph().add({.type = "CumSum", .inputs = {input.name, axis}}), input.type, input.rank}};
}

std::string size_at(OnnxGraph& graph, const OnnxValue& value, std::int64_t axis) {
  OnnxNode node{
      .type = "Shape", .inputs = {value.name}, .attributes = {int_attribute("start", axis)}};
  if (axis != -1) {
    node.attributes.push_back(int_attribute("end", axis + 1));
  }
  return graph.add(node);
}

// Minus infinity where a query would look ahead of itself, 0 elsewhere.
std::string causal_mask(OnnxGraph& graph, const OnnxValue& query, const OnnxValue& key) {
  const std::string shape =
      graph.add({.type = "Concat",
                 .inputs = {size_at(graph, query, -2), size_at(graph, key, -2)},
                 .attributes = {int_attribute("axis", 0)}});
  const at::Tensor infinity = torch::full({1}, -std::numeric_limits<float>::infinity());
  const std::string full = graph.add({.type = "ConstantOfShape",
                                      .inputs = {shape},
                                      .attributes = {tensor_attribute("value", infinity)}});
  return graph.add({.type = "Trilu",
                    .inputs = {full, graph.scalar(1, at::kLong)},
                    .attributes = {int_attribute("upper", 1)}});
}

// scaled_dot_product_attention(query, key, value, mask, dropout_p, is_causal, scale, enable_gqa)
Result<Values> attention(OnnxOp& op) {
  const OnnxValue query = KEDGE_TRY(op.tensor(0));
  const OnnxValue key = KEDGE_TRY(op.tensor(1));
  const OnnxValue value = KEDGE_TRY(op.tensor(2));
  if (!op.is_none(3) || KEDGE_TRY(op.real(4)) != 0.0 || !op.is_none(6) || KEDGE_TRY(op.flag(7))) {
    return op.refuse("with a mask, dropout, scale or grouped queries");
  }
  if (query.rank < 3 || key.rank != query.rank || value.rank != query.rank) {
    return op.refuse("on tensors of unlike rank");
  }
  OnnxGraph& graph = op.graph();
  const std::string width = graph.add({.type = "Cast",
                                       .inputs = {size_at(graph, query, -1)},
                                       .attributes = {int_attribute("to", 1)}});
  const std::string root = graph.add({.type = "Sqrt", .inputs = {width}});
  const std::string scaled = graph.add({.type = "Div", .inputs = {query.name, root}});
  Ints order(static_cast<std::size_t>(key.rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  const std::string columns = graph.add(
      {.type = "Transpose", .inputs = {key.name}, .attributes = {ints_attribute("perm", order)}});
  std::string scores = graph.add({.type = "MatMul", .inputs = {scaled, columns}});
  if (KEDGE_TRY(op.flag(5))) {
    scores = graph.add({.type = "Add", .inputs = {scores, causal_mask(graph, query, key)}});
  }
  const std::string weights =
      graph.add({.type = "Softmax", .inputs = {scores}, .attributes = {int_attribute("axis", -1)}});
  return Values{
      {graph.add({.type = "MatMul", .inputs = {weights, value.name}}), value.type, value.rank}};
}

}  // namespace

const OnnxTranslations& onnx_sequence() {
  static const OnnxTranslations translations{
      {"aten::cumsum", cumsum},       {"aten::embedding", embedding},
      {"aten::gelu", gelu},           {"aten::layer_norm", layer_norm},
      {"aten::ones_like", ones_like}, {"aten::scaled_dot_product_attention", attention},
  };
  return translations;
}

}  // namespace kedge::nn
