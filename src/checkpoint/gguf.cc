// GGUF: "GGUF" | u32 version | u64 tensors | u64 facts | facts | tensors' names, sizes, types and
// places | padding | data. Numbers are little-endian, strings have a u64 length, sizes stand with
// the innermost first.
#include "checkpoint/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checkpoint/internal/dtype.h"
#include "checkpoint/internal/ggml_blocks.h"
#include "core/byte_reader.h"

namespace kedge::checkpoint {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr std::uint64_t kMostFacts = 100'000;
constexpr std::uint64_t kMostTensors = 1'000'000;
constexpr std::uint32_t kMostDimensions = 4;

enum class FactType : std::uint32_t {
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  F32,
  Bool,
  String,
  Array,
  U64,
  I64,
  F64  // as files number them
};

std::string_view read_string(ByteReader& reader) {
  return reader.take(reader.fixed<std::uint64_t>());
}

// Nothing: a type that the format does not have. What is cut short is told by the reader.
std::optional<nlohmann::json> read_fact(ByteReader& reader, FactType type, int depth = 0) {
  switch (type) {
    case FactType::U8:
      return reader.fixed<std::uint8_t>();
    case FactType::I8:
      return reader.fixed<std::int8_t>();
    case FactType::U16:
      return reader.fixed<std::uint16_t>();
    case FactType::I16:
      return reader.fixed<std::int16_t>();
    case FactType::U32:
      return reader.fixed<std::uint32_t>();
    case FactType::I32:
      return reader.fixed<std::int32_t>();
    case FactType::F32:
      return reader.fixed<float>();
    case FactType::Bool:
      return reader.fixed<std::uint8_t>() != 0;
    case FactType::String:
      return std::string(read_string(reader));
    case FactType::U64:
      return reader.fixed<std::uint64_t>();
    case FactType::I64:
      return reader.fixed<std::int64_t>();
    case FactType::F64:
      return reader.fixed<double>();
    case FactType::Array:
      break;
    default:
      return std::nullopt;
  }
  if (depth > 0) {
    return std::nullopt;  // no writer nests arrays
  }
  const auto inner = static_cast<FactType>(reader.fixed<std::uint32_t>());
  const auto count = reader.fixed<std::uint64_t>();
  nlohmann::json list = nlohmann::json::array();
  for (std::uint64_t i = 0; i < count && reader.is_good(); ++i) {
    auto value = read_fact(reader, inner, depth + 1);
    if (!value) {
      return std::nullopt;
    }
    list.push_back(std::move(*value));
  }
  return list;
}

// llama.cpp's names of a block's tensors, and Hugging Face's.
constexpr auto kBlockNames = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
});

// "blk.3.attn_q.weight" as "model.layers.3.self_attn.q_proj.weight"; other names stay.
std::string hugging_face_name(std::string_view name) {
  if (name == "token_embd.weight") {
    return "model.embed_tokens.weight";
  }
  if (name == "output_norm.weight") {
    return "model.norm.weight";
  }
  if (name == "output.weight") {
    return "lm_head.weight";
  }
  constexpr std::string_view kBlock = "blk.";
  const std::size_t dot = name.find('.', kBlock.size());
  const std::size_t last = name.rfind('.');
  if (name.starts_with(kBlock) && dot != std::string_view::npos && last > dot) {
    const std::string_view middle = name.substr(dot + 1, last - dot - 1);
    for (const auto& [theirs, ours] : kBlockNames) {
      if (theirs == middle) {
        return fmt::format("model.layers.{}.{}{}", name.substr(kBlock.size(), dot - kBlock.size()),
                           ours, name.substr(last));
      }
    }
  }
  return std::string(name);
}

struct Packed {
  GgmlType type;
  std::span<const std::uint8_t> bytes;
  std::int64_t heads = 0;  // whose rows are told apart (below); 0: rows lie as they are
};

class MappedGguf : public GgufFile {
 public:
  const std::vector<TensorView>& tensors() const override { return tensors_; }

  const std::map<std::string, std::string>& metadata() const override { return metadata_; }

  const nlohmann::json& facts() const override { return facts_; }

  std::span<const std::uint8_t> bytes_of(const TensorView& view,
                                         std::vector<std::uint8_t>& room) const override;

  Result<void> read(const Path& path);

 private:
  Result<void> read_facts(const Path& path, ByteReader& reader, std::uint64_t count);
  Result<TensorView> read_place(const Path& path, ByteReader& reader);
  Result<void> find_bytes(const Path& path, std::span<const std::uint8_t> data);
  std::int64_t heads_of(std::string_view name) const;

  MappedFile file_;
  nlohmann::json facts_ = nlohmann::json::object();
  std::vector<TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, Packed, std::less<>> packed_;
  std::vector<std::uint64_t> places_;  // of tensors_, in the data
};

std::unexpected<Error> corrupt_gguf(const Path& path, std::string_view what) {
  return fail(ErrorKind::Corrupt,
              fmt::format("{} is not a whole GGUF file: {}", path.string(), what),
              "copy or download the file again");
}

Result<void> MappedGguf::read_facts(const Path& path, ByteReader& reader, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string key(read_string(reader));
    const auto type = static_cast<FactType>(reader.fixed<std::uint32_t>());
    auto value = read_fact(reader, type);
    if (!reader.is_good()) {
      return corrupt_gguf(path, "it ends inside its header");
    }
    if (!value) {
      return corrupt_gguf(path, fmt::format("'{}' has a value of an unknown type", key));
    }
    facts_[std::move(key)] = std::move(*value);
  }
  return {};
}

Result<TensorView> MappedGguf::read_place(const Path& path, ByteReader& reader) {
  const std::string name(read_string(reader));
  const auto dimensions = reader.fixed<std::uint32_t>();
  if (dimensions > kMostDimensions) {
    return corrupt_gguf(path, fmt::format("tensor '{}' has {} dimensions", name, dimensions));
  }
  TensorView view{.name = hugging_face_name(name), .type = DType::F32, .shape = {}, .bytes = {}};
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    view.shape.insert(view.shape.begin(), reader.fixed<std::int64_t>());
  }
  const auto number = reader.fixed<std::uint32_t>();
  places_.push_back(reader.fixed<std::uint64_t>());
  if (!reader.is_good()) {
    return corrupt_gguf(path, "it ends inside its header");
  }
  const auto type = find_ggml_type(number);
  if (!type) {
    return fail(ErrorKind::Usage,
                fmt::format("tensor '{}' of {} has packed type {}, which kedge cannot read", name,
                            path.string(), number),
                "use a file in F32, F16, BF16, Q8_0, Q4_0 or Q4_1");
  }
  view.type = type->unpacked;
  packed_[view.name] = {.type = *type, .bytes = {}, .heads = heads_of(view.name)};
  return view;
}

// Files of Llama's architecture keep the rows of a head's queries and keys in pairs (0, half, 1,
// half + 1, ...), because llama.cpp rotates neighbours; Hugging Face's halves are apart.
std::int64_t MappedGguf::heads_of(std::string_view name) const {
  const bool is_query = name.ends_with("q_proj.weight");
  if (facts_.value("general.architecture", "") != "llama" ||
      (!is_query && !name.ends_with("k_proj.weight"))) {
    return 0;
  }
  const auto all = facts_.value("llama.attention.head_count", std::int64_t{0});
  return is_query ? all : facts_.value("llama.attention.head_count_kv", all);
}

Result<void> MappedGguf::find_bytes(const Path& path, std::span<const std::uint8_t> data) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    TensorView& view = tensors_[i];
    Packed& packed = packed_.find(view.name)->second;
    const auto values = find_byte_count(view.shape, 1);
    const std::int64_t inner = view.shape.empty() ? 1 : view.shape.back();
    if (!values || inner % packed.type.values != 0 ||
        (packed.heads > 0 && (view.shape.size() != 2 || view.shape[0] % (2 * packed.heads) != 0))) {
      return corrupt_gguf(path, fmt::format("tensor '{}' cannot have shape {}", view.name,
                                            render_shape(view.shape)));
    }
    const auto size = static_cast<std::uint64_t>(*values / packed.type.values * packed.type.bytes);
    if (places_[i] > data.size() || size > data.size() - places_[i]) {
      return corrupt_gguf(path, fmt::format("it has {} bytes of data, tensor '{}' lies at {} to {}",
                                            data.size(), view.name, places_[i], places_[i] + size));
    }
    packed.bytes = data.subspan(places_[i], size);
    if (!packed.type.is_packed() && packed.heads == 0) {
      view.bytes = packed.bytes;
    }
  }
  return {};
}

Result<void> MappedGguf::read(const Path& path) {
  static_assert(std::endian::native == std::endian::little);
  file_ = KEDGE_TRY(MappedFile::open(path));
  const auto bytes = file_.bytes();
  ByteReader reader({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (reader.take(kMagic.size()) != kMagic) {
    return corrupt_gguf(path, "it does not begin with GGUF");
  }
  const auto version = reader.fixed<std::uint32_t>();
  if (version != 2 && version != 3) {
    return fail(ErrorKind::Usage,
                fmt::format("{} is of version {} of the GGUF format", path.string(), version),
                "kedge reads versions 2 and 3; convert it with llama.cpp");
  }
  const auto tensors = reader.fixed<std::uint64_t>();
  const auto facts = reader.fixed<std::uint64_t>();
  if (!reader.is_good() || tensors > kMostTensors || facts > kMostFacts) {
    return corrupt_gguf(path, fmt::format("its header claims {} tensors", tensors));
  }
  KEDGE_TRY(read_facts(path, reader, facts));
  for (std::uint64_t i = 0; i < tensors; ++i) {
    tensors_.push_back(KEDGE_TRY(read_place(path, reader)));
    if (packed_.size() != tensors_.size()) {
      return corrupt_gguf(path,
                          fmt::format("tensor '{}' stands twice in it", tensors_.back().name));
    }
  }
  const auto alignment = facts_.value("general.alignment", std::uint64_t{32});
  const std::uint64_t header = bytes.size() - reader.left();
  if (alignment == 0 || alignment > 65536) {
    return corrupt_gguf(path, fmt::format("its data are aligned to {} bytes", alignment));
  }
  const std::uint64_t begin = (header + alignment - 1) / alignment * alignment;
  return find_bytes(path, bytes.subspan(std::min<std::uint64_t>(begin, bytes.size())));
}

std::span<const std::uint8_t> MappedGguf::bytes_of(const TensorView& view,
                                                   std::vector<std::uint8_t>& room) const {
  const Packed& packed = packed_.find(view.name)->second;
  if (!packed.type.is_packed() && packed.heads == 0) {
    return packed.bytes;
  }
  const std::int64_t rows = view.shape.size() > 1 ? view.shape.front() : 1;
  const std::size_t row_bytes = packed.bytes.size() / static_cast<std::size_t>(rows);
  const auto out_bytes =
      static_cast<std::size_t>(*find_byte_count(view.shape, size_of(view.type)) / rows);
  room.resize(out_bytes * static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t from = row;
    if (packed.heads > 0) {
      const std::int64_t of_head = rows / packed.heads;
      const std::int64_t in_head = row % of_head;
      from = row - in_head + in_head % (of_head / 2) * 2 + in_head / (of_head / 2);
    }
    const auto source = packed.bytes.subspan(static_cast<std::size_t>(from) * row_bytes, row_bytes);
    std::uint8_t* target = room.data() + static_cast<std::size_t>(row) * out_bytes;
    if (packed.type.is_packed()) {
      unpack_blocks(packed.type, source, {reinterpret_cast<float*>(target), out_bytes / 4});
    } else {
      std::memcpy(target, source.data(), row_bytes);
    }
  }
  return room;
}

}  // namespace

bool is_gguf(const Path& path) {
  std::array<char, kMagic.size()> first{};
  std::ifstream file(path, std::ios::binary);
  return file.read(first.data(), first.size()) &&
         std::string_view(first.data(), first.size()) == kMagic;
}

Result<std::unique_ptr<GgufFile>> open_gguf(const Path& path) {
  auto file = std::make_unique<MappedGguf>();
  KEDGE_TRY(file->read(path));
  return file;
}

}  // namespace kedge::checkpoint
