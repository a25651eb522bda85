// A state dict as torch.save writes it: a zip file with data.pkl (pickle protocol 2: an OrderedDict
// of calls of torch._utils._rebuild_tensor_v2) and data/0, data/1, ..., the bytes of the tensors.
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "checkpoint/internal/zip_writer.h"
#include "checkpoint/tensor_file.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {
namespace {

constexpr std::string_view kRoot = "archive/";

std::string_view storage_class(DType type) {
  switch (type) {
    case DType::F64:
      return "DoubleStorage";
    case DType::F32:
      return "FloatStorage";
    case DType::F16:
      return "HalfStorage";
    case DType::BF16:
      return "BFloat16Storage";
    case DType::I64:
      return "LongStorage";
    case DType::I32:
      return "IntStorage";
    case DType::I16:
      return "ShortStorage";
    case DType::I8:
      return "CharStorage";
    case DType::U8:
      return "ByteStorage";
    case DType::Bool:
      return "BoolStorage";
  }
  KEDGE_CHECK(false, "every DType has a storage");
}

// Opcodes of protocol 2, by their names in Python's pickletools.
class PickleWriter {
 public:
  PickleWriter() : text_("\x80\x02") {}

  void global(std::string_view module, std::string_view name) {
    text_ += fmt::format("c{}\n{}\n", module, name);  // GLOBAL
  }

  void text(std::string_view value) {
    text_ += 'X';  // BINUNICODE
    number(value.size(), 4);
    text_ += value;
  }

  void integer(std::int64_t value) {
    if (value >= 0 && value <= std::numeric_limits<std::int32_t>::max()) {
      text_ += 'J';  // BININT
      number(static_cast<std::uint64_t>(value), 4);
    } else {
      text_ += "\x8a\x08";  // LONG1 of 8 bytes
      number(static_cast<std::uint64_t>(value), 8);
    }
  }

  void integers(std::span<const std::int64_t> values) {
    opcode('(');
    for (const std::int64_t value : values) {
      integer(value);
    }
    opcode('t');
  }

  // '(' MARK, 't' TUPLE, ')' EMPTY_TUPLE, 'R' REDUCE, 'Q' BINPERSID, 'u' SETITEMS, '.' STOP
  void opcode(char code) { text_ += code; }

  void boolean(bool value) { text_ += value ? '\x88' : '\x89'; }

  const std::string& bytes() const { return text_; }

 private:
  void number(std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
      text_ += static_cast<char>((value >> (8 * i)) & 0xFFU);
    }
  }

  std::string text_;
};

void add_ordered_dict(PickleWriter& pickle) {
  pickle.global("collections", "OrderedDict");
  pickle.opcode(')');
  pickle.opcode('R');
}

std::vector<std::int64_t> find_strides(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

// _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, backward_hooks)
void add_tensor(PickleWriter& pickle, const TensorView& tensor, std::size_t key) {
  pickle.global("torch._utils", "_rebuild_tensor_v2");
  pickle.opcode('(');
  pickle.opcode('(');
  pickle.text("storage");
  pickle.global("torch", storage_class(tensor.type));
  pickle.text(std::to_string(key));
  pickle.text("cpu");
  pickle.integer(static_cast<std::int64_t>(tensor.bytes.size()) / size_of(tensor.type));
  pickle.opcode('t');
  pickle.opcode('Q');
  pickle.integer(0);
  pickle.integers(tensor.shape);
  pickle.integers(find_strides(tensor.shape));
  pickle.boolean(false);
  add_ordered_dict(pickle);
  pickle.opcode('t');
  pickle.opcode('R');
}

std::string render_pickle(std::span<const TensorView> tensors) {
  PickleWriter pickle;
  add_ordered_dict(pickle);
  pickle.opcode('(');
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    pickle.text(tensors[i].name);
    add_tensor(pickle, tensors[i], i);
  }
  pickle.opcode('u');
  pickle.opcode('.');
  return pickle.bytes();
}

Result<void> write_zip(int fd, const Path& path, std::span<const TensorView> tensors) {
  const auto record = [](std::string_view name) { return fmt::format("{}{}", kRoot, name); };
  ZipWriter zip(fd, path);
  KEDGE_TRY(zip.add(record("data.pkl"), render_pickle(tensors)));
  KEDGE_TRY(zip.add(record("byteorder"), "little"));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    KEDGE_TRY(zip.add(record(fmt::format("data/{}", i)), tensors[i].bytes));
  }
  KEDGE_TRY(zip.add(record("version"), "3\n"));
  return zip.finish();
}

}  // namespace

Result<void> write_torch_file(const Path& path, std::span<const TensorView> tensors) {
  return replace_file(path, [&](const Path& beside) {
    return write_synced(beside, path, [&](int fd) { return write_zip(fd, path, tensors); });
  });
}

}  // namespace kedge::checkpoint
