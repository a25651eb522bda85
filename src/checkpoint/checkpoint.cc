#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "checkpoint/internal/manifest.h"
#include "checkpoint/internal/shard_writer.h"
#include "checkpoint/tensor_file.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/result.h"

namespace kedge::checkpoint {
namespace {

constexpr std::string_view kManifest = "manifest.json";

bool is_there(const Path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

void remove_quietly(const Path& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
}

// The complete checkpoint that a replacement moved aside; it is the current one only while `path`
// itself is missing.
Path aside_of(const Path& path) {
  return path.string() + ".old";
}

Path without_trailing_slash(const Path& path) {
  return path.has_filename() ? path : path.parent_path();
}

Result<void> rename_folder(const Path& from, const Path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    return std::unexpected(io_error(fmt::format("cannot rename {} to", from.string()), to, errno));
  }
  return {};
}

bool is_part_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

PartEntry describe(const Part& part, const std::string& file, WrittenShard shard) {
  PartEntry entry{.name = part.name,
                  .file = file,
                  .size = shard.size,
                  .header_hash = shard.header_hash,
                  .tensors = {}};
  for (WrittenTensor& written : shard.tensors) {
    const TensorView& tensor = *written.tensor;
    entry.tensors.push_back({.name = tensor.name,
                             .type = tensor.type,
                             .shape = tensor.shape,
                             .slice_offset = std::vector<std::int64_t>(tensor.shape.size(), 0),
                             .slice_shape = tensor.shape,
                             .offset = written.offset,
                             .bytes = tensor.bytes.size(),
                             .chunks = std::move(written.chunks)});
  }
  return entry;
}

Result<void> write_folder(const Path& folder, std::span<const Part> parts,
                          const nlohmann::json& state) {
  KEDGE_TRY(make_dirs(folder));
  Manifest manifest;
  manifest.created = fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::now()));
  manifest.state = state;
  for (const Part& part : parts) {
    KEDGE_CHECK(is_part_name(part.name), "parts have plain lower-case names");
    const std::string file = part.name + ".safetensors";
    WrittenShard shard = KEDGE_TRY(write_shard(folder / file, part.tensors, {{"format", "pt"}}));
    manifest.parts.push_back(describe(part, file, std::move(shard)));
  }
  // Also syncs the folder.
  return write_file_atomic(folder / kManifest, render_manifest(manifest));
}

// Between the two renames only <path>.old exists, and open() finds it there.
Result<void> put_in_place(const Path& fresh, const Path& path) {
  const Path aside = aside_of(path);
  if (is_there(path)) {
    remove_quietly(aside);
    KEDGE_TRY(rename_folder(path, aside));
  }
  KEDGE_TRY(rename_folder(fresh, path));
  KEDGE_TRY(sync_dir(path.has_parent_path() ? path.parent_path() : Path(".")));
  remove_quietly(aside);
  return {};
}

std::unexpected<Error> torn(const Path& path, std::string_view what) {
  return fail(ErrorKind::Corrupt, fmt::format("checkpoint {} is damaged: {}", path.string(), what),
              "use an older checkpoint of the run");
}

// The shard's own header must say what the manifest says, or one of them is from another save.
Result<void> compare_headers(const Path& path, const PartEntry& part, const TensorFile& file) {
  const auto& tensors = file.tensors();
  bool is_same = tensors.size() == part.tensors.size();
  for (std::size_t i = 0; is_same && i < tensors.size(); ++i) {
    const TensorEntry& entry = part.tensors[i];
    const std::uint64_t chunk_count = (entry.bytes + kChunkBytes - 1) / kChunkBytes;
    is_same = tensors[i].name == entry.name && tensors[i].type == entry.type &&
              tensors[i].shape == entry.slice_shape && tensors[i].bytes.size() == entry.bytes &&
              entry.chunks.size() == chunk_count;
  }
  if (!is_same) {
    return torn(path, fmt::format("{} does not hold the tensors its manifest lists", part.file));
  }
  return {};
}

Result<std::unique_ptr<TensorFile>> open_part(const Path& path, const PartEntry& part) {
  const Path file = path / part.file;
  if (!is_there(file)) {
    return torn(path, fmt::format("shard {} is missing", part.file));
  }
  const MappedFile map = KEDGE_TRY(MappedFile::open(file));
  if (map.bytes().size() != part.size) {
    return torn(
        path, fmt::format("shard {} has {} of {} bytes", part.file, map.bytes().size(), part.size));
  }
  std::uint64_t data_bytes = 0;
  for (const TensorEntry& tensor : part.tensors) {
    data_bytes += tensor.bytes;
  }
  if (data_bytes > part.size ||
      xxh3_64(map.bytes().first(static_cast<std::size_t>(part.size - data_bytes))) !=
          part.header_hash) {
    return torn(path, fmt::format("the header of shard {} does not match its hash", part.file));
  }
  auto tensors = KEDGE_TRY(open_safetensors(file));
  KEDGE_TRY(compare_headers(path, part, *tensors));
  return tensors;
}

}  // namespace

Result<void> write_checkpoint(const Path& target, std::span<const Part> parts,
                              const nlohmann::json& state) {
  const Path path = without_trailing_slash(target);
  if (is_there(path) && !is_there(path / kManifest)) {
    return fail(ErrorKind::Usage,
                fmt::format("{} exists and is not a checkpoint; it is left alone", path.string()),
                "choose another name, or move it away");
  }
  const Path fresh = fmt::format("{}.tmp-{}", path.string(), ::getpid());
  remove_quietly(fresh);
  auto written = write_folder(fresh, parts, state);
  if (written) {
    written = put_in_place(fresh, path);
  }
  if (!written) {
    remove_quietly(fresh);
  }
  return written;
}

Checkpoint::Checkpoint() = default;
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

Result<Checkpoint> Checkpoint::open(const Path& target) {
  Checkpoint checkpoint;
  checkpoint.path_ = without_trailing_slash(target);
  if (!is_there(checkpoint.path_) && is_there(aside_of(checkpoint.path_))) {
    checkpoint.path_ = aside_of(checkpoint.path_);
  }
  const Path& path = checkpoint.path_;
  const Path file = path / kManifest;
  if (!is_there(file)) {
    return fail(ErrorKind::NotFound,
                is_there(path)
                    ? fmt::format("{} is not a checkpoint: it has no {}", path.string(), kManifest)
                    : fmt::format("there is no checkpoint {}", path.string()));
  }
  const std::string text = KEDGE_TRY(read_file(file));
  checkpoint.manifest_ = std::make_unique<Manifest>(KEDGE_TRY(parse_manifest(file, text)));
  for (const PartEntry& part : checkpoint.manifest_->parts) {
    checkpoint.parts_[part.name] = KEDGE_TRY(open_part(path, part));
  }
  return checkpoint;
}

const nlohmann::json& Checkpoint::state() const {
  return manifest_->state;
}

const std::string& Checkpoint::created() const {
  return manifest_->created;
}

bool Checkpoint::has_part(const std::string& name) const {
  return parts_.contains(name);
}

const TensorFile& Checkpoint::part(const std::string& name) const {
  const auto found = parts_.find(name);
  KEDGE_CHECK(found != parts_.end(), "callers ask has_part first");
  return *found->second;
}

Result<void> Checkpoint::verify() const {
  for (const PartEntry& part : manifest_->parts) {
    const auto& tensors = parts_.at(part.name)->tensors();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const TensorEntry& entry = part.tensors[i];
      for (std::size_t chunk = 0; chunk < entry.chunks.size(); ++chunk) {
        const std::size_t begin = chunk * kChunkBytes;
        const std::size_t count =
            std::min<std::size_t>(kChunkBytes, tensors[i].bytes.size() - begin);
        if (xxh3_64(tensors[i].bytes.subspan(begin, count)) != entry.chunks[chunk]) {
          return torn(path_, fmt::format("tensor '{}' in shard {} differs from its hash within "
                                         "bytes {} to {} of the file",
                                         entry.name, part.file, entry.offset + begin,
                                         entry.offset + begin + count));
        }
      }
    }
  }
  return {};
}

}  // namespace kedge::checkpoint
