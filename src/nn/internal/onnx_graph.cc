#include "nn/internal/onnx_graph.h"

#include <torch/types.h>

#include "core/result.h"

namespace kedge::nn {
namespace {

constexpr std::int64_t kIrVersion = 8;
constexpr std::int64_t kOpset = 17;

// AttributeProto.AttributeType
constexpr std::int64_t kFloatAttribute = 1;
constexpr std::int64_t kIntAttribute = 2;
constexpr std::int64_t kTensorAttribute = 4;
constexpr std::int64_t kIntsAttribute = 7;

// TensorProto.DataType
std::int64_t data_type(at::ScalarType type) {
  KEDGE_CHECK(type == at::kFloat || type == at::kLong, "only float32 and int64 are written");
  return type == at::kFloat ? 1 : 7;
}

OnnxMessage tensor_message(const at::Tensor& tensor, std::string_view name) {
  const at::Tensor data = tensor.detach().contiguous();
  OnnxMessage message;
  for (const std::int64_t size : data.sizes()) {
    message.integer(1, size);
  }
  message.integer(2, data_type(data.scalar_type())).text(8, name);
  message.text(9, {static_cast<const char*>(data.const_data_ptr()), data.nbytes()});
  return message;
}

OnnxMessage value_info(std::string_view name, at::ScalarType type,
                       const std::vector<OnnxDimension>& shape) {
  OnnxMessage dimensions;
  for (const OnnxDimension& dimension : shape) {
    dimensions.message(1, dimension.name.empty() ? OnnxMessage().integer(1, dimension.size)
                                                 : OnnxMessage().text(2, dimension.name));
  }
  const OnnxMessage tensor = OnnxMessage().integer(1, data_type(type)).message(2, dimensions);
  return OnnxMessage().text(1, name).message(2, OnnxMessage().message(1, tensor));
}

}  // namespace

OnnxMessage int_attribute(std::string_view name, std::int64_t value) {
  return OnnxMessage().text(1, name).integer(3, value).integer(20, kIntAttribute);
}

OnnxMessage float_attribute(std::string_view name, double value) {
  return OnnxMessage()
      .text(1, name)
      .real(2, static_cast<float>(value))
      .integer(20, kFloatAttribute);
}

OnnxMessage ints_attribute(std::string_view name, const std::vector<std::int64_t>& values) {
  OnnxMessage message;
  message.text(1, name);
  for (const std::int64_t value : values) {
    message.integer(8, value);
  }
  return message.integer(20, kIntsAttribute);
}

OnnxMessage tensor_attribute(std::string_view name, const at::Tensor& value) {
  return OnnxMessage()
      .text(1, name)
      .message(5, tensor_message(value, {}))
      .integer(20, kTensorAttribute);
}

std::string OnnxGraph::add(const OnnxNode& node) {
  return add_with_outputs(node, 1).front();
}

std::vector<std::string> OnnxGraph::add_with_outputs(const OnnxNode& node, std::size_t count) {
  std::vector<std::string> outputs;
  for (std::size_t i = 0; i < count; ++i) {
    outputs.push_back(next_name());
  }
  emit(node, outputs);
  return outputs;
}

void OnnxGraph::emit(const OnnxNode& node, const std::vector<std::string>& outputs) {
  OnnxMessage message;
  for (const std::string& input : node.inputs) {
    message.text(1, input);
  }
  for (const std::string& output : outputs) {
    message.text(2, output);
  }
  message.text(4, node.type);
  for (const OnnxMessage& attribute : node.attributes) {
    message.message(5, attribute);
  }
  nodes_.message(1, message);
}

std::string OnnxGraph::add_initializer(const at::Tensor& tensor, const std::string& name) {
  std::string used = name.empty() ? next_name() : name;
  initializers_.message(5, tensor_message(tensor, used));
  return used;
}

std::string OnnxGraph::scalar(double value, at::ScalarType type) {
  std::string& name = scalars_[{value, type}];
  if (name.empty()) {
    name = add_initializer(torch::scalar_tensor(value, type));
  }
  return name;
}

std::string OnnxGraph::ints(const std::vector<std::int64_t>& values) {
  std::string& name = ints_[values];
  if (name.empty()) {
    name = add_initializer(torch::tensor(values, torch::kInt64));
  }
  return name;
}

void OnnxGraph::add_input(at::ScalarType type, const std::vector<OnnxDimension>& shape) {
  ends_.message(11, value_info(kOnnxInput, type, shape));
}

void OnnxGraph::add_output(const OnnxValue& value, const std::vector<OnnxDimension>& shape) {
  emit({.type = "Identity", .inputs = {value.name}}, {kOnnxOutput});
  ends_.message(12, value_info(kOnnxOutput, value.type, shape));
}

std::string OnnxGraph::render(const std::string& metadata_key, const std::string& metadata) const {
  OnnxMessage graph;
  graph.append(nodes_).text(2, "kedge").append(initializers_).append(ends_);
  OnnxMessage model;
  model.integer(1, kIrVersion).text(2, "kedge").text(6, "a model trained with kedge");
  model.message(7, graph);
  model.message(8, OnnxMessage().text(1, "").integer(2, kOpset));
  model.message(14, OnnxMessage().text(1, metadata_key).text(2, metadata));
  return model.bytes();
}

}  // namespace kedge::nn
