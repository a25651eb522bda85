#include "checkpoint/internal/shard_writer.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "checkpoint/internal/dtype.h"
#include "checkpoint/tensor_file.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/result.h"

namespace kedge::checkpoint {
namespace {

std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// JSON text of a string, or an error for bytes that are not UTF-8, which no reader could give back.
Result<std::string> quote(std::string_view text, const Path& path) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    return fail(ErrorKind::Usage, fmt::format("cannot write {}: a tensor name or metadata value is "
                                              "not UTF-8",
                                              path.string()));
  }
}

Result<void> check_tensors(const Path& path, std::span<const TensorView> tensors) {
  std::set<std::string_view> names;
  for (const TensorView& tensor : tensors) {
    if (tensor.name == "__metadata__" || !names.insert(tensor.name).second) {
      return fail(
          ErrorKind::Usage,
          fmt::format("cannot write {}: the tensor name '{}' is {}", path.string(), tensor.name,
                      tensor.name == "__metadata__" ? "reserved" : "used twice"));
    }
    const auto expected = find_byte_count(tensor.shape, size_of(tensor.type));
    KEDGE_CHECK(expected && static_cast<std::uint64_t>(*expected) == tensor.bytes.size(),
                "a TensorView's bytes match its shape");
  }
  return {};
}

// Widest types first, as the Python package does: each tensor then starts at a multiple of its
// element size without gaps, which the format forbids.
std::vector<WrittenTensor> plan(std::span<const TensorView> tensors) {
  std::vector<WrittenTensor> order;
  for (const TensorView& tensor : tensors) {
    order.push_back({.tensor = &tensor, .offset = 0, .chunks = {}});
  }
  std::ranges::sort(order, [](const WrittenTensor& a, const WrittenTensor& b) {
    const std::int64_t size_a = size_of(a.tensor->type);
    const std::int64_t size_b = size_of(b.tensor->type);
    return size_a != size_b ? size_a > size_b : a.tensor->name < b.tensor->name;
  });
  std::uint64_t offset = 0;
  for (WrittenTensor& written : order) {
    written.offset = offset;
    offset += written.tensor->bytes.size();
  }
  return order;
}

Result<std::string> render_header(const Path& path, const std::vector<WrittenTensor>& order,
                                  const std::map<std::string, std::string>& metadata) {
  std::string json = "{";
  if (!metadata.empty()) {
    json += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      json += json.back() == '{' ? "" : ",";
      json += KEDGE_TRY(quote(key, path)) + ":" + KEDGE_TRY(quote(value, path));
    }
    json += "}";
  }
  for (const WrittenTensor& written : order) {
    const TensorView& tensor = *written.tensor;
    json += json.size() == 1 ? "" : ",";
    json += fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                        KEDGE_TRY(quote(tensor.name, path)), name_of(tensor.type),
                        fmt::join(tensor.shape, ","), written.offset,
                        written.offset + tensor.bytes.size());
  }
  json += "}";
  json.append((8 - json.size() % 8) % 8, ' ');

  std::string header;
  for (std::size_t i = 0; i < 8; ++i) {
    header += static_cast<char>((json.size() >> (8 * i)) & 0xFFU);
  }
  return header + json;
}

Result<void> write_data(int fd, const Path& path, WrittenTensor& written) {
  std::span<const std::uint8_t> rest = written.tensor->bytes;
  while (!rest.empty()) {
    const auto chunk = rest.first(std::min<std::size_t>(rest.size(), kChunkBytes));
    written.chunks.push_back(xxh3_64(chunk));
    KEDGE_TRY(write_all(fd, as_text(chunk), path));
    rest = rest.subspan(chunk.size());
  }
  return {};
}

}  // namespace

Result<WrittenShard> write_shard(const Path& path, std::span<const TensorView> tensors,
                                 const std::map<std::string, std::string>& metadata) {
  KEDGE_TRY(check_tensors(path, tensors));
  WrittenShard shard;
  shard.tensors = plan(tensors);
  const std::string header = KEDGE_TRY(render_header(path, shard.tensors, metadata));
  shard.header_hash = xxh3_64(as_bytes(header));

  KEDGE_TRY(write_synced(path, path, [&](int fd) -> Result<void> {
    KEDGE_TRY(write_all(fd, header, path));
    shard.size = header.size();
    for (WrittenTensor& written : shard.tensors) {
      written.offset += header.size();
      shard.size += written.tensor->bytes.size();
      KEDGE_TRY(write_data(fd, path, written));
    }
    return {};
  }));
  return shard;
}

Result<void> write_safetensors(const Path& path, std::span<const TensorView> tensors,
                               const std::map<std::string, std::string>& metadata) {
  return replace_file(path, [&](const Path& beside) -> Result<void> {
    KEDGE_TRY(write_shard(beside, tensors, metadata));
    return {};
  });
}

}  // namespace kedge::checkpoint
