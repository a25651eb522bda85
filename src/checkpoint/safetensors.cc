// The safetensors format: header length u64 | JSON header | data. Every tensor's data_offsets must
// follow the one before without gap or overlap and end with the file, so that no byte is unnamed.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checkpoint/internal/dtype.h"
#include "checkpoint/tensor_file.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {
namespace {

// The reference implementation's limit; a longer header is an attack or damage.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

class SafetensorsFile : public TensorFile {
 public:
  const std::vector<TensorView>& tensors() const override { return tensors_; }

  const std::map<std::string, std::string>& metadata() const override { return metadata_; }

  MappedFile file_;
  std::vector<TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
  std::deque<std::vector<std::uint8_t>> copies_;
};

struct Located {
  TensorView view;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

std::unexpected<Error> corrupt_safetensors(const Path& path, std::string_view what) {
  return fail(ErrorKind::Corrupt,
              fmt::format("{} is not a whole safetensors file: {}", path.string(), what),
              "copy or download the file again");
}

Result<std::string_view> read_header_text(const Path& path, std::span<const std::uint8_t> bytes) {
  if (bytes.size() < 8) {
    return corrupt_safetensors(path, fmt::format("it has only {} bytes", bytes.size()));
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    length |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
  }
  if (length > kMaxHeaderBytes || length > bytes.size() - 8) {
    return corrupt_safetensors(
        path, fmt::format("its header claims {} bytes, the file has {}", length, bytes.size()));
  }
  const auto header = bytes.subspan(8, static_cast<std::size_t>(length));
  if (header.empty() || header.front() != '{') {
    return corrupt_safetensors(path, "its header is not a JSON object");
  }
  return std::string_view(reinterpret_cast<const char*>(header.data()), header.size());
}

// nlohmann keeps the last of two equal keys without a word; here a repeat is damage.
Result<nlohmann::json> parse_header(const Path& path, std::string_view text) {
  constexpr int kDeepest = 4;
  std::vector<std::set<std::string>> keys(kDeepest + 1);
  std::string trouble;
  const auto watch = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    if (depth > kDeepest) {
      trouble = "its header is nested too deep";
      return false;
    }
    auto& seen = keys[static_cast<std::size_t>(depth)];
    if (event == nlohmann::json::parse_event_t::object_start && depth < kDeepest) {
      keys[static_cast<std::size_t>(depth) + 1].clear();
    } else if (event == nlohmann::json::parse_event_t::key &&
               !seen.insert(value.get_ref<const std::string&>()).second) {
      trouble = fmt::format("the name '{}' stands twice in its header",
                            value.get_ref<const std::string&>());
    }
    return true;
  };
  nlohmann::json header = nlohmann::json::parse(text, watch, false);
  if (!trouble.empty()) {
    return corrupt_safetensors(path, trouble);
  }
  if (!header.is_object()) {
    return corrupt_safetensors(path, "its header is not JSON");
  }
  return Result<nlohmann::json>(std::in_place, std::move(header));
}

bool is_integer_in_range(const nlohmann::json& value) {
  return value.is_number_unsigned() &&
         value.get<std::uint64_t>() <=
             static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

bool is_size_list(const nlohmann::json& value) {
  return value.is_array() && std::ranges::all_of(value, is_integer_in_range);
}

Result<Located> read_entry(const Path& path, const std::string& name, const nlohmann::json& entry) {
  const auto bad = [&](std::string_view what) {
    return corrupt_safetensors(path, fmt::format("tensor '{}' {}", name, what));
  };
  if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") ||
      !entry.contains("shape") || !entry.contains("data_offsets")) {
    return bad("is not described by dtype, shape and data_offsets");
  }
  const auto& dtype = entry["dtype"];
  const auto& shape = entry["shape"];
  const auto& offsets = entry["data_offsets"];
  if (!dtype.is_string() || !is_size_list(shape) || !is_size_list(offsets) || offsets.size() != 2) {
    return bad("has a dtype, shape or data_offsets of the wrong kind");
  }
  const auto& type_name = dtype.get_ref<const std::string&>();
  const auto type = find_dtype(type_name);
  if (!type) {
    return fail(ErrorKind::Usage,
                fmt::format("tensor '{}' of {} has type {}, which kedge cannot "
                            "use",
                            name, path.string(), type_name),
                "convert it to a type kedge has: F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL");
  }
  Located located;
  located.view = {.name = name, .type = *type, .shape = {}, .bytes = {}};
  for (const auto& size : shape) {
    located.view.shape.push_back(size.get<std::int64_t>());
  }
  located.begin = offsets[0].get<std::uint64_t>();
  located.end = offsets[1].get<std::uint64_t>();
  const auto count = find_byte_count(located.view.shape, size_of(*type));
  if (!count || located.end < located.begin ||
      located.end - located.begin != static_cast<std::uint64_t>(*count)) {
    return bad(fmt::format("of shape {} and type {} cannot lie at bytes {} to {}",
                           render_shape(located.view.shape), type_name, located.begin,
                           located.end));
  }
  return located;
}

Result<void> read_metadata(const Path& path, const nlohmann::json& json,
                           std::map<std::string, std::string>& metadata) {
  if (!json.is_object()) {
    return corrupt_safetensors(path, "__metadata__ is not a JSON object");
  }
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) {
      return corrupt_safetensors(path, fmt::format("__metadata__ '{}' is not a string", key));
    }
    metadata.emplace(key, value.get<std::string>());
  }
  return {};
}

// The bytes in the map, or a copy of them where a careless writer left them unaligned.
std::span<const std::uint8_t> place(SafetensorsFile& file, std::span<const std::uint8_t> bytes,
                                    DType type) {
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  if (bytes.empty() || address % static_cast<std::uintptr_t>(size_of(type)) == 0) {
    return bytes;
  }
  return file.copies_.emplace_back(bytes.begin(), bytes.end());
}

Result<void> lay_out(const Path& path, std::vector<Located>& located,
                     std::span<const std::uint8_t> data, SafetensorsFile& file) {
  std::ranges::sort(located, [](const Located& a, const Located& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::uint64_t position = 0;
  for (Located& tensor : located) {
    if (tensor.begin != position || tensor.end > data.size()) {
      return corrupt_safetensors(
          path, fmt::format("tensor '{}' lies at bytes {} to {} of the data, but {} are "
                            "there and {} belong to the tensors before it",
                            tensor.view.name, tensor.begin, tensor.end, data.size(), position));
    }
    position = tensor.end;
    tensor.view.bytes = place(file,
                              data.subspan(static_cast<std::size_t>(tensor.begin),
                                           static_cast<std::size_t>(tensor.end - tensor.begin)),
                              tensor.view.type);
    file.tensors_.push_back(std::move(tensor.view));
  }
  if (position != data.size()) {
    return corrupt_safetensors(
        path, fmt::format("{} bytes at its end belong to no tensor", data.size() - position));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<TensorFile>> open_safetensors(const Path& path) {
  auto file = std::make_unique<SafetensorsFile>();
  file->file_ = KEDGE_TRY(MappedFile::open(path));
  const auto bytes = file->file_.bytes();
  const std::string_view text = KEDGE_TRY(read_header_text(path, bytes));
  const nlohmann::json header = KEDGE_TRY(parse_header(path, text));

  std::vector<Located> located;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      KEDGE_TRY(read_metadata(path, entry, file->metadata_));
    } else {
      located.push_back(KEDGE_TRY(read_entry(path, name, entry)));
    }
  }
  KEDGE_TRY(lay_out(path, located, bytes.subspan(8 + text.size()), *file));
  return file;
}

}  // namespace kedge::checkpoint
