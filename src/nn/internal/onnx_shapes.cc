#include <limits>
#include <numeric>
#include <utility>

#include "nn/internal/onnx_op.h"

namespace kedge::nn {
namespace {

using Values = std::vector<OnnxValue>;
using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

// Of one axis; where it ends is not part of it.
struct OnnxSlice {
  std::int64_t axis = 0;
  std::int64_t start = 0;
  std::int64_t end = kToTheEnd;
  std::int64_t step = 1;
};

// flatten(input, first, last)
Result<Values> flatten(OnnxOp& op) {
  const OnnxValue input = KEDGE_TRY(op.tensor(0));
  const std::int64_t first = front_axis(KEDGE_TRY(op.integer(1)), input.rank);
  const std::int64_t last = front_axis(KEDGE_TRY(op.integer(2)), input.rank);
  if (first < 1 || last != input.rank - 1 || first > last) {
    return op.refuse("of other axes than the last ones");
  }
  // 0 copies a size, -1 takes what is left.
  Ints shape(static_cast<std::size_t>(first), 0);
  shape.push_back(-1);
  const std::string name =
      op.graph().add({.type = "Reshape", .inputs = {input.name, op.graph().ints(shape)}});
  return Values{{name, input.type, first + 1}};
}

// unflatten(input, dim, sizes)
Result<Values> unflatten(OnnxOp& op) {
  const OnnxValue input = KEDGE_TRY(op.tensor(0));
  const Ints sizes = KEDGE_TRY(op.integers(2));
  if (front_axis(KEDGE_TRY(op.integer(1)), input.rank) != input.rank - 1) {
    return op.refuse("of another axis than the last");
  }
  Ints shape(static_cast<std::size_t>(input.rank - 1), 0);
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  const std::string name =
      op.graph().add({.type = "Reshape", .inputs = {input.name, op.graph().ints(shape)}});
  return Values{{name, input.type, static_cast<std::int64_t>(shape.size())}};
}

Values transposed(OnnxOp& op, const OnnxValue& input, const Ints& order) {
  const std::string name = op.graph().add(
      {.type = "Transpose", .inputs = {input.name}, .attributes = {ints_attribute("perm", order)}});
  return {{name, input.type, input.rank}};
}

// transpose(input, dim, dim)
Result<Values> transpose(OnnxOp& op) {
  const OnnxValue input = KEDGE_TRY(op.tensor(0));
  Ints order(static_cast<std::size_t>(input.rank));
  std::iota(order.begin(), order.end(), 0);
  const std::int64_t a = front_axis(KEDGE_TRY(op.integer(1)), input.rank);
  const std::int64_t b = front_axis(KEDGE_TRY(op.integer(2)), input.rank);
  std::swap(order.at(static_cast<std::size_t>(a)), order.at(static_cast<std::size_t>(b)));
  return transposed(op, input, order);
}

// permute(input, dims)
Result<Values> permute(OnnxOp& op) {
  const OnnxValue input = KEDGE_TRY(op.tensor(0));
  Ints order = KEDGE_TRY(op.integers(1));
  for (std::int64_t& axis : order) {
    axis = front_axis(axis, input.rank);
  }
  return transposed(op, input, order);
}

// select(input, dim, index)
Result<Values> select(OnnxOp& op) {
  const OnnxValue input = KEDGE_TRY(op.tensor(0));
  const std::string index =
      op.graph().scalar(static_cast<double>(KEDGE_TRY(op.integer(2))), at::kLong);
  const std::string name =
      op.graph().add({.type = "Gather",
                      .inputs = {input.name, index},
                      .attributes = {int_attribute("axis", KEDGE_TRY(op.integer(1)))}});
  return Values{{name, input.type, input.rank - 1}};
}

// narrow(input, dim, start, length)
Result<Values> narrow(OnnxOp& op) {
  const OnnxValue input = KEDGE_TRY(op.tensor(0));
  const std::int64_t axis = KEDGE_TRY(op.integer(1));
  const std::int64_t start = KEDGE_TRY(op.integer(2));
  const std::int64_t length = KEDGE_TRY(op.integer(3));
  if (start < 0) {
    return op.refuse("from the end");
  }
  OnnxGraph& graph = op.graph();
  const std::string name =
      graph.add({.type = "Slice",
                 .inputs = {input.name, graph.ints({start}), graph.ints({start + length}),
                            graph.ints({axis})}});
  return Values{{name, input.type, input.rank}};
}

Values sliced(OnnxOp& op, const OnnxValue& input, const OnnxSlice& slice) {
  OnnxGraph& graph = op.graph();
  const std::string name =
      graph.add({.type = "Slice",
                 .inputs = {input.name, graph.ints({slice.start}), graph.ints({slice.end}),
                            graph.ints({slice.axis}), graph.ints({slice.step})}});
  return {{name, input.type, input.rank}};
}

// slice(input, dim, start, end, step)
Result<Values> slice(OnnxOp& op) {
  const OnnxValue input = KEDGE_TRY(op.tensor(0));
  return sliced(op, input,
                {.axis = KEDGE_TRY(op.integer(1)),
                 .start = op.is_none(2) ? 0 : KEDGE_TRY(op.integer(2)),
                 .end = op.is_none(3) ? kToTheEnd : KEDGE_TRY(op.integer(3)),
                 .step = KEDGE_TRY(op.integer(4))});
}

// flip(input, dims)
Result<Values> flip(OnnxOp& op) {
  OnnxValue input = KEDGE_TRY(op.tensor(0));
  for (const std::int64_t axis : KEDGE_TRY(op.integers(1))) {
    input = sliced(op, input, {.axis = axis, .start = -1, .end = -kToTheEnd, .step = -1}).front();
  }
  return Values{input};
}

// expand_as(input, other)
Result<Values> expand_as(OnnxOp& op) {
  const OnnxValue input = KEDGE_TRY(op.tensor(0));
  const OnnxValue other = KEDGE_TRY(op.tensor(1));
  const std::string shape = op.graph().add({.type = "Shape", .inputs = {other.name}});
  return Values{
      {op.graph().add({.type = "Expand", .inputs = {input.name, shape}}), input.type, other.rank}};
}

// cat(tensors, dim)
Result<Values> cat(OnnxOp& op) {
  const Values inputs = KEDGE_TRY(op.tensors(0));
  std::vector<std::string> names;
  for (const OnnxValue& input : inputs) {
    if (input.type != inputs.front().type) {
      return op.refuse("of two types");
    }
    names.push_back(input.name);
  }
  const std::string name =
      op.graph().add({.type = "Concat",
                      .inputs = std::move(names),
                      .attributes = {int_attribute("axis", KEDGE_TRY(op.integer(1)))}});
  return Values{{name, inputs.front().type, inputs.front().rank}};
}

// In equal parts: a runtime refuses an axis that does not divide.
Values split(OnnxOp& op, const OnnxValue& input, std::int64_t axis, std::size_t count) {
  Values parts;
  for (std::string& name : op.graph().add_with_outputs(
           {.type = "Split", .inputs = {input.name}, .attributes = {int_attribute("axis", axis)}},
           count)) {
    parts.push_back({std::move(name), input.type, input.rank});
  }
  return parts;
}

// chunk(input, chunks, dim)
Result<Values> chunk(OnnxOp& op) {
  const OnnxValue input = KEDGE_TRY(op.tensor(0));
  const std::size_t count = KEDGE_TRY(op.list_length());
  if (KEDGE_TRY(op.integer(1)) != static_cast<std::int64_t>(count)) {
    return op.refuse("of an axis that does not divide");
  }
  return split(op, input, KEDGE_TRY(op.integer(2)), count);
}

// unbind(input, dim)
Result<Values> unbind(OnnxOp& op) {
  const OnnxValue input = KEDGE_TRY(op.tensor(0));
  const std::int64_t axis = KEDGE_TRY(op.integer(1));
  // Squeeze, unlike Gather, fails where the axis has another length than the recorded one.
  Values items = split(op, input, axis, KEDGE_TRY(op.list_length()));
  for (OnnxValue& item : items) {
    item.name = op.graph().add({.type = "Squeeze", .inputs = {item.name, op.graph().ints({axis})}});
    --item.rank;
  }
  return items;
}

}  // namespace

const OnnxTranslations& onnx_shapes() {
  static const OnnxTranslations translations{
      {"aten::cat", cat},
      {"aten::chunk", chunk},
      {"aten::expand_as", expand_as},
      {"aten::flatten", flatten},
      {"aten::flip", flip},
      {"aten::narrow", narrow},
      {"aten::permute", permute},
      {"aten::select", select},
      {"aten::slice", slice},
      {"aten::transpose", transpose},
      {"aten::unbind", unbind},
      {"aten::unflatten", unflatten},
  };
  return translations;
}

}  // namespace kedge::nn
