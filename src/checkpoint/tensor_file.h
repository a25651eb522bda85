// Tensors as bytes and names: what safetensors files, PyTorch .pt files and checkpoints hold.
// The checkpoint room never includes libtorch.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {

// The element types of the safetensors format that kedge uses.
enum class DType : std::uint8_t { F64, F32, F16, BF16, I64, I32, I16, I8, U8, Bool };

std::int64_t size_of(DType type);
std::string_view name_of(DType type);  // as safetensors spells it: "F32", "BOOL"

// A named tensor whose bytes (contiguous, little-endian, aligned to the element size when they come
// from a file) somebody else owns.
struct TensorView {
  std::string name;
  DType type = DType::F32;
  std::vector<std::int64_t> shape;
  std::span<const std::uint8_t> bytes;
  // Where these are a piece of a larger tensor: where they begin in it, and its shape. Only for
  // writing: what is read is whole.
  std::vector<std::int64_t> slice_offset = {};
  std::vector<std::int64_t> whole_shape = {};
};

// A whole file of tensors, memory-mapped; the views live as long as it does. Constant: any number
// of threads may read. A file that shrinks meanwhile kills the process, as with any mapping:
// checkpoints are replaced by renaming, never written again.
class TensorFile {
 public:
  virtual ~TensorFile() = default;
  virtual const std::vector<TensorView>& tensors() const = 0;
  virtual const std::map<std::string, std::string>& metadata() const = 0;

  // The bytes of one of tensors(): the view's own, or, where the file holds them packed (GGUF),
  // unpacked into `room`, which must outlive their use.
  virtual std::span<const std::uint8_t> bytes_of(const TensorView& view,
                                                 std::vector<std::uint8_t>& /*room*/) const {
    return view.bytes;
  }
};

// Corrupt: a header that does not fit the file; tensors of an unknown type, with gaps between them,
// or that overlap.
Result<std::unique_ptr<TensorFile>> open_safetensors(const Path& path);

// A state dict saved with torch.save (zip format), also inside a dict under "model_state_dict",
// "state_dict" or "model". Reads the pickle with an interpreter that builds only dicts, lists,
// numbers, strings and tensors: anything that would call code is refused by name.
Result<std::unique_ptr<TensorFile>> open_torch_file(const Path& path);

// The folder of a model as Hugging Face keeps it: model.safetensors, or the files that
// model.safetensors.index.json names, as one. NotFound: neither is there, or a file that the index
// names is not; Corrupt: a file lacks a tensor that the index says is in it.
Result<std::unique_ptr<TensorFile>> open_hugging_face_folder(const Path& folder);

// Chooses by content: safetensors, torch zip, GGUF, a checkpoint folder's model shard, or a folder
// of Hugging Face's.
Result<std::unique_ptr<TensorFile>> open_tensors(const Path& path);

// Names the tensors' contents, however they are divided into files: "xxh3:" and 32 hex digits.
// Reads every byte.
std::string digest_of(const TensorFile& file);

// Written beside, synced, renamed.
Result<void> write_safetensors(const Path& path, std::span<const TensorView> tensors,
                               const std::map<std::string, std::string>& metadata);

// A state dict that torch.load(path, weights_only=True) reads; equal tensors give equal files.
Result<void> write_torch_file(const Path& path, std::span<const TensorView> tensors);

}  // namespace kedge::checkpoint
