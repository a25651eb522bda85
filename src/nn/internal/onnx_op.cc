#include "nn/internal/onnx_op.h"

#include <fmt/format.h>
#include <torch/csrc/jit/ir/ir.h>

#include "nn/internal/onnx_walker.h"

namespace kedge::nn {
namespace {

// The argument that the schema has at this place, or nothing.
const torch::jit::Value* argument_of(const torch::jit::Node& node, std::size_t argument) {
  return argument < node.inputs().size() ? node.inputs()[argument] : nullptr;
}

}  // namespace

OnnxGraph& OnnxOp::graph() {
  return walker_.onnx_;
}

std::unexpected<Error> OnnxOp::refuse(std::string_view why) const {
  return fail(ErrorKind::Usage,
              fmt::format("ONNX export does not cover the operation {} {}",
                          node_.kind().toQualString(), why),
              kOnnxHint);
}

Result<OnnxValue> OnnxOp::tensor(std::size_t argument) {
  const torch::jit::Value* value = argument_of(node_, argument);
  const OnnxValue* found = value == nullptr ? nullptr : walker_.tensor(*value);
  if (found == nullptr) {
    return refuse(fmt::format("where argument {} is no float32 or int64 tensor", argument));
  }
  return *found;
}

Result<std::vector<OnnxValue>> OnnxOp::tensors(std::size_t argument) {
  const torch::jit::Value* value = argument_of(node_, argument);
  if (value == nullptr || value->node()->kind() != torch::jit::prim::ListConstruct) {
    return refuse("on a list made elsewhere");
  }
  std::vector<OnnxValue> items;
  for (const torch::jit::Value* item : value->node()->inputs()) {
    const OnnxValue* found = walker_.tensor(*item);
    if (found == nullptr) {
      return refuse("on a list of other things than float32 or int64 tensors");
    }
    items.push_back(*found);
  }
  if (items.empty()) {
    return refuse("on an empty list");
  }
  return items;
}

const OnnxValue* OnnxOp::untransposed(std::size_t argument) const {
  const auto found = walker_.sources_.find(argument_of(node_, argument));
  return found == walker_.sources_.end() ? nullptr : &found->second;
}

const c10::IValue* OnnxOp::known(std::size_t argument) const {
  const torch::jit::Value* value = argument_of(node_, argument);
  return value == nullptr ? nullptr : walker_.known(*value);
}

bool OnnxOp::is_none(std::size_t argument) const {
  const c10::IValue* value = known(argument);
  return value != nullptr && value->isNone();
}

bool OnnxOp::is_integer(std::size_t argument) const {
  const c10::IValue* value = known(argument);
  return value != nullptr && value->isInt();
}

bool OnnxOp::is_number(std::size_t argument) const {
  const c10::IValue* value = known(argument);
  return value != nullptr && (value->isInt() || value->isDouble());
}

Result<std::int64_t> OnnxOp::integer(std::size_t argument) const {
  if (!is_integer(argument)) {
    return refuse(fmt::format("where argument {} is no constant integer", argument));
  }
  return known(argument)->toInt();
}

Result<double> OnnxOp::real(std::size_t argument) const {
  if (!is_number(argument)) {
    return refuse(fmt::format("where argument {} is no constant number", argument));
  }
  return known(argument)->toScalar().toDouble();
}

Result<bool> OnnxOp::flag(std::size_t argument) const {
  const c10::IValue* value = known(argument);
  if (value == nullptr || !value->isBool()) {
    return refuse(fmt::format("where argument {} is no constant flag", argument));
  }
  return value->toBool();
}

Result<std::string> OnnxOp::text(std::size_t argument) const {
  const c10::IValue* value = known(argument);
  if (value == nullptr || !value->isString()) {
    return refuse(fmt::format("where argument {} is no constant text", argument));
  }
  return value->toStringRef();
}

Result<std::vector<std::int64_t>> OnnxOp::integers(std::size_t argument) const {
  const c10::IValue* value = known(argument);
  if (value != nullptr && value->isIntList()) {
    return value->toIntVector();
  }
  std::vector<std::int64_t> items;
  const torch::jit::Value* list = argument_of(node_, argument);
  bool is_constant = list != nullptr && list->node()->kind() == torch::jit::prim::ListConstruct;
  if (is_constant) {
    for (const torch::jit::Value* item : list->node()->inputs()) {
      const c10::IValue* number = walker_.known(*item);
      is_constant = is_constant && number != nullptr && number->isInt();
      items.push_back(is_constant ? number->toInt() : 0);
    }
  }
  if (!is_constant) {
    return refuse(fmt::format("where argument {} is no constant list of integers", argument));
  }
  return items;
}

Result<std::size_t> OnnxOp::list_length() const {
  const auto& uses = node_.output()->uses();
  if (uses.size() != 1 || uses.front().user->kind() != torch::jit::prim::ListUnpack) {
    return refuse("where its list is not taken apart at once");
  }
  return uses.front().user->outputs().size();
}

}  // namespace kedge::nn
