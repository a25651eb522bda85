#include "checkpoint/internal/pickled_array.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kedge::checkpoint {
namespace {

using Kind = PickleValue::Kind;

// numpy 2 moved its modules; its pickles are the same.
constexpr std::array<std::string_view, 4> kArrayNames = {"numpy.core.multiarray._reconstruct",
                                                         "numpy._core.multiarray._reconstruct",
                                                         "numpy.ndarray", "numpy.dtype"};

constexpr std::size_t kMaxArrayDimensions = 32;

}  // namespace

bool is_array_name(std::string_view name) {
  return std::ranges::find(kArrayNames, name) != kArrayNames.end();
}

bool is_array_part(const PickleValue& value) {
  return value.kind == Kind::Array || value.kind == Kind::ArrayType;
}

Result<void> call_for_array(std::string_view name, const PickleValue& arguments,
                            PickleValue& result) {
  const auto& items = arguments.items;
  if (name == "numpy.dtype") {
    constexpr std::size_t kMaxName = 16;  // structured types are of no use here
    if (items.empty() || !is_text(*items[0]) || items[0]->text.size() > kMaxName) {
      return corrupt_pickle("an array's type is described in an unknown way");
    }
    result.kind = Kind::ArrayType;
    result.text = items[0]->text;
  } else if (name == "numpy.ndarray") {
    return corrupt_pickle("it calls a class that only _reconstruct may make");
  } else {
    result.kind = Kind::Array;  // empty until BUILD
  }
  return {};
}

// (version, shape, type, is_fortran, bytes). The bytes stay where they are: many arrays can refer
// to them, and a hostile pickle must not grow.
Result<void> build_array(PickleValue& value, const PickleValue& state) {
  if (value.kind == Kind::ArrayType) {
    return {};
  }
  const auto& items = state.items;
  if (state.kind != Kind::Tuple || items.size() != 5 || items[1]->kind != Kind::Tuple ||
      items[1]->items.size() > kMaxArrayDimensions || items[2]->kind != Kind::ArrayType ||
      items[3]->kind != Kind::Bool || items[3]->integer != 0 || items[4]->kind != Kind::Bytes) {
    return corrupt_pickle("an array is described in an unknown way");
  }
  std::vector<std::int64_t> shape;
  for (const PickleValue* side : items[1]->items) {
    if (side->kind != Kind::Integer || side->integer < 0) {
      return corrupt_pickle("an array's shape is not made of sizes");
    }
    shape.push_back(side->integer);
  }
  value.tensor.shape = std::move(shape);
  value.items = {items[2], items[4]};
  return {};
}

}  // namespace kedge::checkpoint
