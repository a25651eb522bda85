#include "checkpoint/internal/pickled_tensor.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "checkpoint/tensor_file.h"

namespace kedge::checkpoint {
namespace {

using Kind = PickleValue::Kind;

// What every tensor copies from a value that many may share. torch numbers its storages.
constexpr std::size_t kMaxTensorDimensions = 64;
constexpr std::size_t kMaxStorageName = 64;

constexpr std::array<std::pair<std::string_view, DType>, 10> kStorages = {{
    {"torch.DoubleStorage", DType::F64},
    {"torch.FloatStorage", DType::F32},
    {"torch.HalfStorage", DType::F16},
    {"torch.BFloat16Storage", DType::BF16},
    {"torch.LongStorage", DType::I64},
    {"torch.IntStorage", DType::I32},
    {"torch.ShortStorage", DType::I16},
    {"torch.CharStorage", DType::I8},
    {"torch.ByteStorage", DType::U8},
    {"torch.BoolStorage", DType::Bool},
}};

std::optional<DType> find_storage_type(std::string_view name) {
  for (const auto& [storage, type] : kStorages) {
    if (storage == name) {
      return type;
    }
  }
  return std::nullopt;
}

constexpr std::array<std::string_view, 22> kDTypeNames = {
    "torch.float64", "torch.double",    "torch.float32",    "torch.float",  "torch.float16",
    "torch.half",    "torch.bfloat16",  "torch.int64",      "torch.long",   "torch.int32",
    "torch.int",     "torch.int16",     "torch.short",      "torch.int8",   "torch.uint8",
    "torch.bool",    "torch.complex64", "torch.complex128", "torch.uint16", "torch.uint32",
    "torch.uint64",  "torch.complex32"};

Result<std::vector<std::int64_t>> integers(const PickleValue& tuple) {
  if (tuple.items.size() > kMaxTensorDimensions) {
    return corrupt_pickle(fmt::format("a tensor has {} dimensions", tuple.items.size()));
  }
  std::vector<std::int64_t> numbers;
  for (const PickleValue* item : tuple.items) {
    if (item->kind != Kind::Integer) {
      return corrupt_pickle("a tensor's shape or stride is not an integer");
    }
    numbers.push_back(item->integer);
  }
  return numbers;
}

}  // namespace

bool is_tensor_name(std::string_view name) {
  return std::ranges::find(kDTypeNames, name) != kDTypeNames.end() || find_storage_type(name);
}

Result<StridedTensor> read_storage(const PickleValue& id) {
  const bool is_storage = id.kind == Kind::Tuple && id.items.size() >= 5 &&
                          id.items[0]->text == "storage" && id.items[1]->kind == Kind::Global &&
                          id.items[2]->kind == Kind::Text &&
                          id.items[2]->text.size() <= kMaxStorageName &&
                          id.items[4]->kind == Kind::Integer && id.items[4]->integer >= 0;
  const auto type = is_storage ? find_storage_type(id.items[1]->text) : std::nullopt;
  if (!type) {
    return corrupt_pickle("it refers to something that is not a tensor's storage");
  }
  StridedTensor storage;
  storage.storage = id.items[2]->text;
  storage.type = *type;
  storage.storage_elements = id.items[4]->integer;
  return storage;
}

Result<StridedTensor> read_tensor(const std::vector<PickleValue*>& arguments) {
  if (arguments.size() < 4 || arguments[0]->kind != Kind::Storage ||
      arguments[1]->kind != Kind::Integer || arguments[2]->kind != Kind::Tuple ||
      arguments[3]->kind != Kind::Tuple) {
    return corrupt_pickle("a tensor is described in an unknown way");
  }
  StridedTensor tensor = arguments[0]->tensor;
  tensor.offset = arguments[1]->integer;
  tensor.shape = KEDGE_TRY(integers(*arguments[2]));
  tensor.strides = KEDGE_TRY(integers(*arguments[3]));
  if (tensor.shape.size() != tensor.strides.size()) {
    return corrupt_pickle("a tensor has more dimensions than strides, or fewer");
  }
  return tensor;
}

}  // namespace kedge::checkpoint
