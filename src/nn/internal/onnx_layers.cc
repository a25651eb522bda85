#include <algorithm>
#include <utility>

#include "nn/internal/onnx_op.h"

namespace kedge::nn {
namespace {

using Values = std::vector<OnnxValue>;
using Ints = std::vector<std::int64_t>;

Ints pair_of(Ints values) {
  if (values.size() == 1) {
    values.push_back(values.front());
  }
  return values;
}

// ONNX's order: all begins, then all ends.
Ints both_sides(const Ints& padding) {
  Ints sides = padding;
  sides.insert(sides.end(), padding.begin(), padding.end());
  return sides;
}

struct Convolution {
  Ints stride;
  Ints padding;
  Ints dilation;
  std::int64_t groups = 1;
};

// One number stands for all axes.
void expand(Ints& values, std::size_t axes) {
  if (values.size() == 1) {
    values.resize(axes, values.front());
  }
}

Result<Values> add_convolution(OnnxOp& op, Convolution convolution) {
  const OnnxValue input = KEDGE_TRY(op.tensor(0));
  const OnnxValue weight = KEDGE_TRY(op.tensor(1));
  const auto spatial = static_cast<std::size_t>(weight.rank - 2);
  for (Ints* values : {&convolution.stride, &convolution.padding, &convolution.dilation}) {
    expand(*values, spatial);
  }
  if (input.rank != weight.rank || convolution.stride.size() != spatial ||
      convolution.padding.size() != spatial || convolution.dilation.size() != spatial) {
    return op.refuse("on an input without a batch axis");
  }
  std::vector<std::string> inputs{input.name, weight.name};
  if (!op.is_none(2)) {
    inputs.push_back(KEDGE_TRY(op.tensor(2)).name);
  }
  const std::string name =
      op.graph().add({.type = "Conv",
                      .inputs = std::move(inputs),
                      .attributes = {ints_attribute("strides", convolution.stride),
                                     ints_attribute("pads", both_sides(convolution.padding)),
                                     ints_attribute("dilations", convolution.dilation),
                                     int_attribute("group", convolution.groups)}});
  return Values{{name, input.type, input.rank}};
}

// _convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups,
//              benchmark, deterministic, cudnn_enabled, allow_tf32)
Result<Values> convolution(OnnxOp& op) {
  if (KEDGE_TRY(op.flag(6))) {
    return op.refuse("transposed");
  }
  return add_convolution(op, {.stride = KEDGE_TRY(op.integers(3)),
                              .padding = KEDGE_TRY(op.integers(4)),
                              .dilation = KEDGE_TRY(op.integers(5)),
                              .groups = KEDGE_TRY(op.integer(8))});
}

// conv2d(input, weight, bias, stride, padding, dilation, groups)
Result<Values> conv2d(OnnxOp& op) {
  return add_convolution(op, {.stride = KEDGE_TRY(op.integers(3)),
                              .padding = KEDGE_TRY(op.integers(4)),
                              .dilation = KEDGE_TRY(op.integers(5)),
                              .groups = KEDGE_TRY(op.integer(6))});
}

// batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn)
Result<Values> convert_batch_norm(OnnxOp& op) {
  if (KEDGE_TRY(op.flag(5))) {
    return op.refuse("in training");
  }
  const OnnxValue input = KEDGE_TRY(op.tensor(0));
  std::vector<std::string> inputs{input.name};
  for (const std::size_t argument : {1, 2, 3, 4}) {
    if (op.is_none(argument)) {
      return op.refuse("without weights or running statistics");
    }
    inputs.push_back(KEDGE_TRY(op.tensor(argument)).name);
  }
  const std::string name =
      op.graph().add({.type = "BatchNormalization",
                      .inputs = std::move(inputs),
                      .attributes = {float_attribute("epsilon", KEDGE_TRY(op.real(7)))}});
  return Values{{name, input.type, input.rank}};
}

// An operation of each value by itself.
Result<Values> of_each(OnnxOp& op, const std::string& type) {
  const OnnxValue input = KEDGE_TRY(op.tensor(0));
  return Values{{op.graph().add({.type = type, .inputs = {input.name}}), input.type, input.rank}};
}

// max_pool2d(input, kernel, stride, padding, dilation, ceil_mode)
Result<Values> convert_max_pool(OnnxOp& op) {
  const OnnxValue input = KEDGE_TRY(op.tensor(0));
  const Ints kernel = pair_of(KEDGE_TRY(op.integers(1)));
  Ints stride = pair_of(KEDGE_TRY(op.integers(2)));
  if (stride.empty()) {
    stride = kernel;
  }
  // torch drops a last window that lies wholly in the padding; runtimes differ there.
  if (KEDGE_TRY(op.flag(5))) {
    return op.refuse("with ceil_mode");
  }
  if (input.rank != 4) {
    return op.refuse("on an input without a batch axis");
  }
  const std::string name = op.graph().add(
      {.type = "MaxPool",
       .inputs = {input.name},
       .attributes = {ints_attribute("kernel_shape", kernel), ints_attribute("strides", stride),
                      ints_attribute("pads", both_sides(pair_of(KEDGE_TRY(op.integers(3))))),
                      ints_attribute("dilations", pair_of(KEDGE_TRY(op.integers(4))))}});
  return Values{{name, input.type, input.rank}};
}

// adaptive_avg_pool2d(input, size)
Result<Values> average_pool(OnnxOp& op) {
  const OnnxValue input = KEDGE_TRY(op.tensor(0));
  if (pair_of(KEDGE_TRY(op.integers(1))) != Ints{1, 1} || input.rank != 4) {
    return op.refuse("to another size than 1x1");
  }
  return Values{{op.graph().add({.type = "GlobalAveragePool", .inputs = {input.name}}), input.type,
                 input.rank}};
}

// amax(input, dims, keepdim)
Result<Values> maximum(OnnxOp& op) {
  const OnnxValue input = KEDGE_TRY(op.tensor(0));
  const Ints axes = KEDGE_TRY(op.integers(1));
  const bool keeps = KEDGE_TRY(op.flag(2));
  if (axes.empty()) {
    return op.refuse("of all axes");
  }
  const std::string name = op.graph().add(
      {.type = "ReduceMax",
       .inputs = {input.name},
       .attributes = {ints_attribute("axes", axes), int_attribute("keepdims", keeps ? 1 : 0)}});
  return Values{{name, input.type, keeps ? input.rank : input.rank - std::ssize(axes)}};
}

// linear(input, weight, bias)
Result<Values> convert_linear(OnnxOp& op) {
  const OnnxValue input = KEDGE_TRY(op.tensor(0));
  const OnnxValue weight = KEDGE_TRY(op.tensor(1));
  std::string bias;
  if (!op.is_none(2)) {
    bias = KEDGE_TRY(op.tensor(2)).name;
  }
  if (weight.rank != 2 || input.rank < 2) {
    return op.refuse("on vectors");
  }
  if (input.rank == 2) {
    std::vector<std::string> inputs{input.name, weight.name};
    if (!bias.empty()) {
      inputs.push_back(bias);
    }
    const std::string name = op.graph().add(
        {.type = "Gemm", .inputs = std::move(inputs), .attributes = {int_attribute("transB", 1)}});
    return Values{{name, input.type, input.rank}};
  }
  const std::string transposed = op.graph().add({.type = "Transpose",
                                                 .inputs = {weight.name},
                                                 .attributes = {ints_attribute("perm", {1, 0})}});
  std::string name = op.graph().add({.type = "MatMul", .inputs = {input.name, transposed}});
  if (!bias.empty()) {
    name = op.graph().add({.type = "Add", .inputs = {name, bias}});
  }
  return Values{{name, input.type, input.rank}};
}

// addmm(bias, a, b, beta, alpha)
Result<Values> addmm(OnnxOp& op) {
  if (KEDGE_TRY(op.real(3)) != 1.0 || KEDGE_TRY(op.real(4)) != 1.0) {
    return op.refuse("with factors");
  }
  const OnnxValue bias = KEDGE_TRY(op.tensor(0));
  const OnnxValue a = KEDGE_TRY(op.tensor(1));
  const OnnxValue* weight = op.untransposed(2);
  const std::string b = weight != nullptr ? weight->name : KEDGE_TRY(op.tensor(2)).name;
  const std::string name =
      op.graph().add({.type = "Gemm",
                      .inputs = {a.name, b, bias.name},
                      .attributes = {int_attribute("transB", weight != nullptr ? 1 : 0)}});
  return Values{{name, a.type, 2}};
}

Result<Values> matmul(OnnxOp& op) {
  const OnnxValue a = KEDGE_TRY(op.tensor(0));
  const OnnxValue b = KEDGE_TRY(op.tensor(1));
  if (a.rank < 2 || b.rank < 2) {
    return op.refuse("on vectors");
  }
  return Values{{op.graph().add({.type = "MatMul", .inputs = {a.name, b.name}}), a.type,
                 std::max(a.rank, b.rank)}};
}

// The second operand of add, mul and sub: a tensor of the same type or a number that has a place in
// it.
Result<OnnxValue> operand(OnnxOp& op, const OnnxValue& first) {
  if (op.is_number(1)) {
    if (first.type == at::kLong && !op.is_integer(1)) {
      return op.refuse("of whole numbers and a fraction");
    }
    return OnnxValue{op.graph().scalar(KEDGE_TRY(op.real(1)), first.type), first.type, 0};
  }
  const OnnxValue second = KEDGE_TRY(op.tensor(1));
  if (second.type != first.type) {
    return op.refuse("of two types");
  }
  return second;
}

// add(a, b, alpha), sub(a, b, alpha)
Result<Values> arithmetic(OnnxOp& op, const char* type) {
  if (KEDGE_TRY(op.real(2)) != 1.0) {
    return op.refuse("with alpha");
  }
  const OnnxValue a = KEDGE_TRY(op.tensor(0));
  const OnnxValue b = KEDGE_TRY(operand(op, a));
  return Values{{op.graph().add({.type = type, .inputs = {a.name, b.name}}), a.type,
                 std::max(a.rank, b.rank)}};
}

Result<Values> add(OnnxOp& op) {
  return arithmetic(op, "Add");
}

Result<Values> sub(OnnxOp& op) {
  return arithmetic(op, "Sub");
}

// mul(a, b)
Result<Values> mul(OnnxOp& op) {
  const OnnxValue a = KEDGE_TRY(op.tensor(0));
  const OnnxValue b = KEDGE_TRY(operand(op, a));
  return Values{{op.graph().add({.type = "Mul", .inputs = {a.name, b.name}}), a.type,
                 std::max(a.rank, b.rank)}};
}

// softmax(input, dim, dtype), log_softmax(input, dim, dtype)
Result<Values> along_axis(OnnxOp& op, const char* type) {
  const OnnxValue input = KEDGE_TRY(op.tensor(0));
  if (!op.is_none(2)) {
    return op.refuse("with a type");
  }
  const std::string name =
      op.graph().add({.type = type,
                      .inputs = {input.name},
                      .attributes = {int_attribute("axis", KEDGE_TRY(op.integer(1)))}});
  return Values{{name, input.type, input.rank}};
}

Result<Values> softmax(OnnxOp& op) {
  return along_axis(op, "Softmax");
}

Result<Values> log_softmax(OnnxOp& op) {
  return along_axis(op, "LogSoftmax");
}

}  // namespace

const OnnxTranslations& onnx_layers() {
  static const OnnxTranslations translations{
      {"aten::_convolution", convolution},
      {"aten::adaptive_avg_pool2d", average_pool},
      {"aten::add", add},
      {"aten::addmm", addmm},
      {"aten::amax", maximum},
      {"aten::batch_norm", convert_batch_norm},
      {"aten::conv2d", conv2d},
      {"aten::linear", convert_linear},
      {"aten::log_softmax", log_softmax},
      {"aten::matmul", matmul},
      {"aten::max_pool2d", convert_max_pool},
      {"aten::mul", mul},
      {"aten::relu", [](OnnxOp& op) { return of_each(op, "Relu"); }},
      {"aten::softmax", softmax},
      {"aten::sub", sub},
      {"aten::tanh", [](OnnxOp& op) { return of_each(op, "Tanh"); }},
  };
  return translations;
}

}  // namespace kedge::nn
