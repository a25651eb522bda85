// torch.save's zip format: <root>/data.pkl describes the objects, <root>/data/<key> are the bytes
// of the storages, <root>/byteorder says "little" or "big".
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "checkpoint/internal/dtype.h"
#include "checkpoint/internal/pickle.h"
#include "checkpoint/internal/zip_archive.h"
#include "checkpoint/tensor_file.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {
namespace {

using Kind = PickleValue::Kind;
using Records = std::map<std::string, std::span<const std::uint8_t>>;

// A few bytes can describe expanded tensors of any size, or many views of one storage. Weights that
// must be copied take at most the size of their file, and this much where some share a storage.
constexpr std::uint64_t kMaxExpandedBytes = std::uint64_t{256} << 20U;

class TorchFile : public TensorFile {
 public:
  const std::vector<TensorView>& tensors() const override { return tensors_; }

  const std::map<std::string, std::string>& metadata() const override { return metadata_; }

  MappedFile file_;
  std::vector<TensorView> tensors_;
  std::map<std::string, std::string> metadata_;  // the format has none
  std::deque<std::vector<std::uint8_t>> copies_;
  std::uint64_t copied_bytes_ = 0;
};

bool has_tensors(const PickleValue& value) {
  return value.kind == Kind::Dict && std::ranges::any_of(value.pairs, [](const auto& pair) {
           return pair.first->kind == Kind::Text && pair.second->kind == Kind::Tensor;
         });
}

// The dict of weights: the root, or one level down under a usual name.
const PickleValue* find_state_dict(const PickleValue& root) {
  if (root.kind != Kind::Dict) {
    return nullptr;
  }
  for (const std::string_view name : {"model_state_dict", "state_dict", "model"}) {
    for (const auto& [key, value] : root.pairs) {
      if (key->kind == Kind::Text && key->text == name && has_tensors(*value)) {
        return value;
      }
    }
  }
  return has_tensors(root) ? &root : nullptr;
}

bool is_contiguous(const StridedTensor& tensor) {
  std::int64_t expected = 1;
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) {
      return false;
    }
    expected *= tensor.shape[i];
  }
  return true;
}

// The last element's position in the storage, or nothing for strides no tensor has.
std::optional<std::int64_t> find_last_element(const StridedTensor& tensor) {
  std::int64_t last = tensor.offset;
  if (last < 0) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    std::int64_t span = 0;
    if (tensor.strides[i] < 0 ||
        __builtin_mul_overflow(tensor.shape[i] - 1, tensor.strides[i], &span) ||
        __builtin_add_overflow(last, span, &last)) {
      return std::nullopt;
    }
  }
  return last;
}

// Copies the elements of a checked strided view into row-major order.
std::vector<std::uint8_t> materialise(const StridedTensor& tensor,
                                      std::span<const std::uint8_t> storage,
                                      std::size_t byte_count) {
  const auto size = static_cast<std::size_t>(size_of(tensor.type));
  std::vector<std::uint8_t> bytes(byte_count);
  std::vector<std::int64_t> index(tensor.shape.size(), 0);
  std::int64_t source = tensor.offset;
  for (std::size_t at = 0; at < byte_count; at += size) {
    std::memcpy(bytes.data() + at, storage.data() + static_cast<std::size_t>(source) * size, size);
    for (std::size_t d = index.size(); d-- > 0;) {
      if (tensor.shape[d] == 1) {
        continue;  // its stride means nothing and may be any number
      }
      source += tensor.strides[d];
      if (++index[d] < tensor.shape[d]) {
        break;
      }
      source -= tensor.strides[d] * tensor.shape[d];
      index[d] = 0;
    }
  }
  return bytes;
}

Result<std::span<const std::uint8_t>> find_bytes(const StridedTensor& tensor,
                                                 std::span<const std::uint8_t> storage,
                                                 TorchFile& file) {
  const std::int64_t size = size_of(tensor.type);
  const auto byte_count = find_byte_count(tensor.shape, size);
  if (!byte_count || tensor.storage_elements > static_cast<std::int64_t>(storage.size()) / size) {
    return fail(ErrorKind::Corrupt, fmt::format("of shape {} does not fit into its storage of {} "
                                                "bytes",
                                                render_shape(tensor.shape), storage.size()));
  }
  if (*byte_count == 0) {
    return std::span<const std::uint8_t>{};
  }
  const auto last = find_last_element(tensor);
  if (!last || *last >= tensor.storage_elements) {
    return fail(ErrorKind::Corrupt,
                fmt::format("of shape {} and strides {} reaches beyond its storage of {} elements",
                            render_shape(tensor.shape), render_shape(tensor.strides),
                            tensor.storage_elements));
  }
  const auto count = static_cast<std::size_t>(*byte_count);
  const auto address = reinterpret_cast<std::uintptr_t>(storage.data());
  if (is_contiguous(tensor) && address % static_cast<std::uintptr_t>(size) == 0) {
    return storage.subspan(static_cast<std::size_t>(tensor.offset * size), count);
  }
  if (count > file.file_.bytes().size() + kMaxExpandedBytes - file.copied_bytes_) {
    return fail(ErrorKind::Corrupt,
                fmt::format("of shape {} expands to {} bytes", render_shape(tensor.shape), count));
  }
  file.copied_bytes_ += count;
  return file.copies_.emplace_back(materialise(tensor, storage, count));
}

Result<void> add_tensors(const Path& path, const PickleValue& state_dict, const std::string& root,
                         const Records& records, TorchFile& file) {
  std::map<std::string_view, std::size_t> seen;
  for (const auto& [key, value] : state_dict.pairs) {
    if (key->kind != Kind::Text || value->kind != Kind::Tensor) {
      continue;
    }
    const StridedTensor& tensor = value->tensor;
    const auto record = records.find(root + "data/" + tensor.storage);
    if (record == records.end()) {
      return fail(ErrorKind::Corrupt,
                  fmt::format("{}: the bytes of tensor '{}' (record data/{}) are missing",
                              path.string(), key->text, tensor.storage),
                  "copy or download the file again");
    }
    auto bytes = find_bytes(tensor, record->second, file);
    if (!bytes) {
      return fail(ErrorKind::Corrupt, fmt::format("{}: tensor '{}' {}", path.string(), key->text,
                                                  bytes.error().message));
    }
    TensorView view{.name = key->text, .type = tensor.type, .shape = tensor.shape, .bytes = *bytes};
    const auto [place, is_new] = seen.emplace(key->text, file.tensors_.size());
    if (is_new) {
      file.tensors_.push_back(std::move(view));
    } else {
      file.tensors_[place->second] = std::move(view);  // the later one, as in a Python dict
    }
  }
  return {};
}

Result<void> check_is_zip(const Path& path, std::span<const std::uint8_t> bytes) {
  if (bytes.size() >= 4 && bytes[0] == 'P' && bytes[1] == 'K') {
    return {};
  }
  if (bytes.size() >= 2 && bytes[0] == 0x80 && bytes[1] == 2) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{} was saved in torch's old (non-zip) format", path.string()),
                "re-save it in Python with torch 1.6 or newer: "
                "torch.save(torch.load(f, weights_only=True), f)");
  }
  return fail(ErrorKind::Corrupt, fmt::format("{} is not a file of torch.save", path.string()));
}

Result<std::string> find_root(const Path& path, const Records& records) {
  constexpr std::string_view kPickle = "data.pkl";
  for (const auto& [name, bytes] : records) {
    if (name.ends_with(kPickle) && std::ranges::count(name, '/') <= 1) {
      const std::string root = name.substr(0, name.size() - kPickle.size());
      if (records.contains(root + "constants.pkl")) {
        return fail(ErrorKind::Usage,
                    fmt::format("{} is a TorchScript module, not a state dict", path.string()),
                    "train it with model.file, or save its weights with "
                    "torch.save(module.state_dict(), ...)");
      }
      return root;
    }
  }
  return fail(ErrorKind::Corrupt,
              fmt::format("{} is a zip file but not one of torch.save: it holds no stored data.pkl",
                          path.string()),
              "if torch can load it, save it again: torch.save(model.state_dict(), ...)");
}

Result<void> check_byte_order(const Path& path, const std::string& root, const Records& records) {
  const auto order = records.find(root + "byteorder");
  if (order == records.end()) {
    return {};
  }
  const std::string name(order->second.begin(), order->second.end());
  if (name != "little") {
    return fail(ErrorKind::Corrupt,
                fmt::format("{} was saved in {}-endian byte order", path.string(), name),
                "load it in Python and re-save it on a little-endian machine");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<TensorFile>> open_torch_file(const Path& path) {
  auto file = std::make_unique<TorchFile>();
  file->file_ = KEDGE_TRY(MappedFile::open(path));
  KEDGE_TRY(check_is_zip(path, file->file_.bytes()));
  const Records records = KEDGE_TRY(read_zip(path, file->file_.bytes()));
  const std::string root = KEDGE_TRY(find_root(path, records));
  KEDGE_TRY(check_byte_order(path, root, records));

  const auto pickle = Pickle::read(records.at(root + "data.pkl"));
  if (!pickle) {
    const Error& error = pickle.error();
    return fail(error.kind, fmt::format("{}: {}", path.string(), error.message), error.hint);
  }
  const PickleValue* state_dict = find_state_dict(pickle->root());
  if (state_dict == nullptr) {
    return fail(ErrorKind::Corrupt, fmt::format("{} holds no state dict", path.string()),
                "save the weights as torch.save(model.state_dict(), ...), or in a dict under "
                "\"model_state_dict\", \"state_dict\" or \"model\"");
  }
  KEDGE_TRY(add_tensors(path, *state_dict, root, records, *file));
  return file;
}

}  // namespace kedge::checkpoint
