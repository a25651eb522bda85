// One operation of a recorded network on its way to ONNX: what its translation reads and writes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/ivalue.h>

#include "core/result.h"
#include "nn/internal/onnx_graph.h"

namespace torch::jit {
struct Node;
}

namespace kedge::nn {

class OnnxWalker;

inline constexpr const char* kOnnxHint =
    "export to a .pt file (TorchScript), which holds every operation";

// Arguments are numbered as in the operation's schema. Every reader refuses what is not there or
// has another type, so that an unforeseen overload is an error and never a wrong node.
class OnnxOp {
 public:
  OnnxOp(OnnxWalker& walker, const torch::jit::Node& node) : walker_(walker), node_(node) {}

  Result<OnnxValue> tensor(std::size_t argument);
  Result<std::vector<OnnxValue>> tensors(std::size_t argument);

  // What aten::t was taken of to give this argument, or nothing: Gemm transposes by itself.
  const OnnxValue* untransposed(std::size_t argument) const;

  Result<std::int64_t> integer(std::size_t argument) const;
  Result<std::vector<std::int64_t>> integers(std::size_t argument) const;
  Result<double> real(std::size_t argument) const;
  Result<bool> flag(std::size_t argument) const;
  Result<std::string> text(std::size_t argument) const;
  bool is_none(std::size_t argument) const;
  bool is_number(std::size_t argument) const;
  bool is_integer(std::size_t argument) const;

  // Into how many tensors the program takes the list that this operation gives.
  Result<std::size_t> list_length() const;

  OnnxGraph& graph();

  // The error that this form of the operation is not covered.
  std::unexpected<Error> refuse(std::string_view why) const;

 private:
  const c10::IValue* known(std::size_t argument) const;

  OnnxWalker& walker_;
  const torch::jit::Node& node_;
};

// One value, or the items of a list.
using OnnxTranslation = Result<std::vector<OnnxValue>> (*)(OnnxOp& op);
using OnnxTranslations = std::map<std::string_view, OnnxTranslation>;

const OnnxTranslations& onnx_layers();    // layers with weights, activations, arithmetic
const OnnxTranslations& onnx_shapes();    // operations that move elements and leave them alone
const OnnxTranslations& onnx_sequence();  // what transformers add

// An axis counted from the front.
inline std::int64_t front_axis(std::int64_t axis, std::int64_t rank) {
  return axis < 0 ? axis + rank : axis;
}

}  // namespace kedge::nn
