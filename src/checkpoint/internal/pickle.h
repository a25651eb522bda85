// A reader for pickles that cannot run code: it builds plain values, descriptions of tensors (as in
// torch.save's files) and numpy arrays, and refuses every other name by name.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/tensor_file.h"
#include "core/result.h"

namespace kedge::checkpoint {

struct PickleValue;

// torch._utils._rebuild_tensor_v2: a strided view of a storage, in elements.
struct StridedTensor {
  std::string storage;  // the record data/<storage>
  DType type = DType::F32;
  std::int64_t storage_elements = 0;
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

struct PickleValue {
  enum class Kind : std::uint8_t {
    Plain,  // a float, a dtype of torch, ...: nothing that weights need
    Bytes,
    Bool,
    Integer,
    Text,
    List,
    Tuple,
    Dict,
    Global,
    Storage,
    Tensor,
    ArrayType,  // of numpy
    Array,      // of numpy
    Mark,
  };

  Kind kind = Kind::Plain;
  std::int64_t integer = 0;
  std::string text = {};                 // Text, Bytes; Global: "module.name"; ArrayType: "u1"
  std::vector<PickleValue*> items = {};  // List, Tuple; Array: its type and its bytes
  std::vector<std::pair<PickleValue*, PickleValue*>> pairs = {};  // Dict, in order of insertion
  StridedTensor tensor = {};  // Tensor; Storage: its first half; Array: its shape
};

// Text, or the bytes that Python 2 had for it.
bool is_text(const PickleValue& value);

std::unexpected<Error> corrupt_pickle(std::string_view what);

// Owns every value, so that the loops a hostile pickle can tie leak nothing.
class Pickle {
 public:
  static Result<Pickle> read(std::span<const std::uint8_t> bytes);

  const PickleValue& root() const { return *root_; }

 private:
  friend class PickleMachine;
  std::deque<PickleValue> values_;
  PickleValue* root_ = nullptr;
};

}  // namespace kedge::checkpoint
