#include "checkpoint/internal/manifest.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checkpoint/internal/dtype.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/result.h"

namespace kedge::checkpoint {
namespace {

constexpr std::string_view kFormat = "kedge-checkpoint";
constexpr int kVersion = 1;
constexpr int kMaxDepth = 64;

std::string render_hash(std::uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

// Stands in for the JSON object's closing brace.
std::string render_tail(std::string_view before) {
  return fmt::format(",\n\"manifest_xxh3\":\"{:016x}\"}}\n", xxh3_64(as_bytes(before)));
}

std::unexpected<Error> corrupt_manifest(const Path& path, std::string_view what) {
  return fail(ErrorKind::Corrupt, fmt::format("{} is damaged: {}", path.string(), what),
              "use an older checkpoint of the run");
}

// nlohmann copies and prints values by recursion, so a tower of brackets would end the process.
bool is_deeper_than(int limit, std::string_view json) {
  int depth = 0;
  bool is_in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (is_in_string) {
      i += c == '\\' ? 1 : 0;
      is_in_string = c != '"';
    } else if (c == '"') {
      is_in_string = true;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    }
    if (depth > limit) {
      return true;
    }
  }
  return false;
}

nlohmann::json render_tensor(const TensorEntry& tensor) {
  nlohmann::json chunks = nlohmann::json::array();
  for (const std::uint64_t hash : tensor.chunks) {
    chunks.push_back(render_hash(hash));
  }
  return {{"name", tensor.name},
          {"dtype", name_of(tensor.type)},
          {"shape", tensor.shape},
          {"slice", {{"offset", tensor.slice_offset}, {"shape", tensor.slice_shape}}},
          {"offset", tensor.offset},
          {"bytes", tensor.bytes},
          {"chunks", std::move(chunks)}};
}

Result<std::uint64_t> parse_hash(const nlohmann::json& json) {
  const auto& text = json.get_ref<const std::string&>();
  std::uint64_t hash = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), hash, 16);
  if (error != std::errc{} || end != text.data() + text.size() || text.size() != 16) {
    return fail(ErrorKind::Corrupt, fmt::format("'{}' is not a hash", text));
  }
  return hash;
}

// nlohmann turns 1e70 into an integer, which C++ does not define.
Result<std::uint64_t> parse_size(const nlohmann::json& json) {
  if (!json.is_number_unsigned()) {
    return fail(ErrorKind::Corrupt, fmt::format("{} is not a size", json.dump()));
  }
  return json.get<std::uint64_t>();
}

Result<std::vector<std::int64_t>> parse_shape(const nlohmann::json& json) {
  std::vector<std::int64_t> shape;
  for (const auto& size : json) {
    shape.push_back(static_cast<std::int64_t>(KEDGE_TRY(parse_size(size))));
  }
  return shape;
}

Result<TensorEntry> parse_tensor(const nlohmann::json& json) {
  TensorEntry tensor;
  json.at("name").get_to(tensor.name);
  const auto type = find_dtype(json.at("dtype").get_ref<const std::string&>());
  if (!type) {
    return fail(ErrorKind::Corrupt, fmt::format("tensor '{}' has an unknown dtype", tensor.name));
  }
  tensor.type = *type;
  tensor.shape = KEDGE_TRY(parse_shape(json.at("shape")));
  tensor.slice_offset = KEDGE_TRY(parse_shape(json.at("slice").at("offset")));
  tensor.slice_shape = KEDGE_TRY(parse_shape(json.at("slice").at("shape")));
  tensor.offset = KEDGE_TRY(parse_size(json.at("offset")));
  tensor.bytes = KEDGE_TRY(parse_size(json.at("bytes")));
  for (const auto& chunk : json.at("chunks")) {
    tensor.chunks.push_back(KEDGE_TRY(parse_hash(chunk)));
  }
  return tensor;
}

nlohmann::json render_shard_entries(const std::vector<ShardEntry>& entries) {
  nlohmann::json parts = nlohmann::json::array();
  for (const ShardEntry& shard : entries) {
    nlohmann::json tensors = nlohmann::json::array();
    for (const TensorEntry& tensor : shard.tensors) {
      tensors.push_back(render_tensor(tensor));
    }
    parts.push_back({{"name", shard.name},
                     {"file", shard.file},
                     {"size", shard.size},
                     {"header_xxh3", render_hash(shard.header_hash)},
                     {"tensors", std::move(tensors)}});
  }
  return parts;
}

// This and the next throw nlohmann's exceptions for keys and types that are not there; their
// callers fence them.
Result<std::vector<ShardEntry>> parse_shard_entries(const nlohmann::json& json) {
  std::vector<ShardEntry> parts;
  for (const auto& shard : json) {
    ShardEntry entry;
    shard.at("name").get_to(entry.name);
    shard.at("file").get_to(entry.file);
    entry.size = KEDGE_TRY(parse_size(shard.at("size")));
    entry.header_hash = KEDGE_TRY(parse_hash(shard.at("header_xxh3")));
    for (const auto& tensor : shard.at("tensors")) {
      entry.tensors.push_back(KEDGE_TRY(parse_tensor(tensor)));
    }
    if (entry.file.empty() || entry.file.find('/') != std::string::npos) {
      return fail(ErrorKind::Corrupt, fmt::format("'{}' is not a shard's name", entry.file));
    }
    parts.push_back(std::move(entry));
  }
  return parts;
}

Result<Manifest> parse_json(const nlohmann::json& json) {
  if (json.at("format") != kFormat || json.at("version") != kVersion) {
    return fail(
        ErrorKind::Corrupt,
        fmt::format("its format is {} version {}, this kedge reads {} version {}",
                    json.at("format").dump(), json.at("version").dump(), kFormat, kVersion));
  }
  Manifest manifest;
  json.at("created").get_to(manifest.created);
  manifest.state = json.at("state");
  manifest.shards = KEDGE_TRY(parse_shard_entries(json.at("parts")));
  return manifest;
}

}  // namespace

std::string render_shards(const std::vector<ShardEntry>& shards) {
  return render_shard_entries(shards).dump(-1, ' ', false,
                                           nlohmann::json::error_handler_t::replace);
}

Result<std::vector<ShardEntry>> parse_shards(const std::string& text) {
  try {
    return parse_shard_entries(nlohmann::json::parse(text));
  } catch (const nlohmann::json::exception& exception) {
    return fail(ErrorKind::Corrupt, std::string("a writer's shards: ") + exception.what());
  }
}

std::string render_manifest(const Manifest& manifest) {
  const nlohmann::json json = {{"format", kFormat},
                               {"version", kVersion},
                               {"created", manifest.created},
                               {"parts", render_shard_entries(manifest.shards)},
                               {"state", manifest.state}};
  std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.pop_back();
  return text + render_tail(text);
}

Result<Manifest> parse_manifest(const Path& path, const std::string& text) {
  const std::size_t tail_size = render_tail("").size();
  if (text.size() < tail_size) {
    return corrupt_manifest(path, fmt::format("it has only {} bytes", text.size()));
  }
  const std::string_view before = std::string_view(text).substr(0, text.size() - tail_size);
  if (std::string_view(text).substr(before.size()) != render_tail(before)) {
    return corrupt_manifest(path, "its bytes do not match the hash at its end");
  }
  if (is_deeper_than(kMaxDepth, text)) {
    return corrupt_manifest(path, fmt::format("it is nested deeper than {} levels", kMaxDepth));
  }
  try {
    auto manifest = parse_json(nlohmann::json::parse(text));
    if (!manifest) {
      return corrupt_manifest(path, manifest.error().message);
    }
    return manifest;
  } catch (const nlohmann::json::exception& exception) {
    return corrupt_manifest(path, exception.what());
  }
}

}  // namespace kedge::checkpoint
