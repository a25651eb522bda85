// An ONNX graph as it grows: nodes, initializers, and the message they become. Field numbers are
// those of onnx.proto (IR version 8, the one that came with opset 17).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/internal/onnx_message.h"

namespace kedge::nn {

// The names of the graph's two ends.
inline constexpr const char* kOnnxInput = "input";
inline constexpr const char* kOnnxOutput = "output";

// A tensor in the graph. Only float32 and int64 occur.
struct OnnxValue {
  std::string name;
  at::ScalarType type = at::kFloat;
  std::int64_t rank = 0;
};

OnnxMessage int_attribute(std::string_view name, std::int64_t value);
OnnxMessage float_attribute(std::string_view name, double value);
OnnxMessage ints_attribute(std::string_view name, const std::vector<std::int64_t>& values);
OnnxMessage tensor_attribute(std::string_view name, const at::Tensor& value);

struct OnnxNode {
  std::string type;
  std::vector<std::string> inputs;
  std::vector<OnnxMessage> attributes = {};
};

// A dimension with a name is free, one without has the size.
struct OnnxDimension {
  std::string name;
  std::int64_t size = 0;
};

class OnnxGraph {
 public:
  // Returns the name of the node's output.
  std::string add(const OnnxNode& node);
  std::vector<std::string> add_with_outputs(const OnnxNode& node, std::size_t count);

  // Stores a tensor, float32 or int64, and returns its name; without `name`, a new one.
  std::string add_initializer(const at::Tensor& tensor, const std::string& name = {});

  // A constant; equal ones are stored once.
  std::string scalar(double value, at::ScalarType type = at::kFloat);
  std::string ints(const std::vector<std::int64_t>& values);

  void add_input(at::ScalarType type, const std::vector<OnnxDimension>& shape);
  void add_output(const OnnxValue& value, const std::vector<OnnxDimension>& shape);

  // The whole file, metadata and all.
  std::string render(const std::string& metadata_key, const std::string& metadata) const;

 private:
  // No attribute of a module has a slash in its name.
  std::string next_name() { return "/" + std::to_string(next_++); }

  void emit(const OnnxNode& node, const std::vector<std::string>& outputs);

  OnnxMessage nodes_;
  OnnxMessage initializers_;
  OnnxMessage ends_;
  std::map<std::pair<double, at::ScalarType>, std::string> scalars_;
  std::map<std::vector<std::int64_t>, std::string> ints_;
  int next_ = 0;
};

}  // namespace kedge::nn
