#include "checkpoint/tensor_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf.h"
#include "checkpoint/internal/dtype.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/result.h"

namespace kedge::checkpoint {
namespace {

struct DTypeRow {
  DType type;
  std::string_view name;
  std::int64_t size;
};

constexpr std::array<DTypeRow, 10> kDTypes = {{
    {DType::F64, "F64", 8},
    {DType::F32, "F32", 4},
    {DType::F16, "F16", 2},
    {DType::BF16, "BF16", 2},
    {DType::I64, "I64", 8},
    {DType::I32, "I32", 4},
    {DType::I16, "I16", 2},
    {DType::I8, "I8", 1},
    {DType::U8, "U8", 1},
    {DType::Bool, "BOOL", 1},
}};

const DTypeRow& row_of(DType type) {
  for (const DTypeRow& row : kDTypes) {
    if (row.type == type) {
      return row;
    }
  }
  KEDGE_CHECK(false, "every DType has a row");
}

bool starts_with(std::span<const std::uint8_t> bytes, std::span<const std::uint8_t> prefix) {
  if (bytes.size() < prefix.size()) {
    return false;
  }
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    if (bytes[i] != prefix[i]) {
      return false;
    }
  }
  return true;
}

// The model part of a checkpoint folder, which keeps the whole checkpoint open.
class ModelPart : public TensorFile {
 public:
  explicit ModelPart(Checkpoint checkpoint) : checkpoint_(std::move(checkpoint)) {}

  const std::vector<TensorView>& tensors() const override {
    return checkpoint_.part("model").tensors();
  }

  const std::map<std::string, std::string>& metadata() const override {
    return checkpoint_.part("model").metadata();
  }

 private:
  Checkpoint checkpoint_;
};

Result<std::unique_ptr<TensorFile>> open_model_part(const Path& path) {
  Checkpoint checkpoint = KEDGE_TRY(Checkpoint::open(path));
  if (!checkpoint.has_part("model")) {
    return fail(ErrorKind::NotFound, fmt::format("checkpoint {} has no model part", path.string()));
  }
  return std::make_unique<ModelPart>(std::move(checkpoint));
}

}  // namespace

std::int64_t size_of(DType type) {
  return row_of(type).size;
}

std::string_view name_of(DType type) {
  return row_of(type).name;
}

std::optional<DType> find_dtype(std::string_view name) {
  for (const DTypeRow& row : kDTypes) {
    if (row.name == name) {
      return row.type;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> find_byte_count(std::span<const std::int64_t> shape,
                                            std::int64_t element_size) {
  std::int64_t count = element_size;
  bool has_zero = false;
  for (const std::int64_t size : shape) {
    if (size < 0) {
      return std::nullopt;
    }
    has_zero = has_zero || size == 0;
    if (size != 0 && __builtin_mul_overflow(count, size, &count)) {
      return std::nullopt;
    }
  }
  return has_zero ? 0 : count;
}

std::string render_shape(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Result<std::unique_ptr<TensorFile>> open_tensors(const Path& path) {
  constexpr std::array<std::uint8_t, 4> kZip = {'P', 'K', 3, 4};
  constexpr std::array<std::uint8_t, 2> kPickle = {0x80, 2};
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return std::filesystem::exists(path / "manifest.json", error) ? open_model_part(path)
                                                                  : open_hugging_face_folder(path);
  }
  if (is_gguf(path)) {
    return open_gguf(path);
  }
  const MappedFile file = KEDGE_TRY(MappedFile::open(path));
  if (starts_with(file.bytes(), kZip) || starts_with(file.bytes(), kPickle)) {
    return open_torch_file(path);
  }
  // A safetensors file: eight bytes of length, then JSON.
  if (file.bytes().size() > 8 && file.bytes()[8] == '{') {
    return open_safetensors(path);
  }
  return fail(
      ErrorKind::Corrupt, fmt::format("{} holds no tensors kedge can read", path.string()),
      "give a .safetensors or .gguf file, a .pt file saved with torch.save(model.state_dict(), "
      "...), a checkpoint folder, or a folder of Hugging Face's");
}

std::string digest_of(const TensorFile& file) {
  std::vector<const TensorView*> views;
  for (const TensorView& view : file.tensors()) {
    views.push_back(&view);
  }
  std::ranges::sort(views, {}, &TensorView::name);
  Digest digest;
  std::vector<std::uint8_t> room;
  for (const TensorView* view : views) {
    digest.add(
        fmt::format("{} {} {} ", view->name, name_of(view->type), fmt::join(view->shape, "x")));
    digest.add(file.bytes_of(*view, room));
  }
  return digest.text();
}

}  // namespace kedge::checkpoint
