#include "checkpoint/checkpoint.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checkpoint/internal/folder.h"
#include "checkpoint/internal/manifest.h"
#include "checkpoint/internal/shard_reader.h"
#include "checkpoint/internal/shard_writer.h"
#include "checkpoint/tensor_file.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/result.h"

namespace kedge::checkpoint {
namespace {

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
  KEDGE_TRY(check_replaceable(path));
  const Path fresh = temporary_of(path);
  remove_quietly(fresh);
  const auto written = write_folder(fresh, parts, state);
  const auto done = written ? commit_folder(fresh, path) : std::unexpected(written.error());
  if (!done) {
    remove_quietly(fresh);
    return done;
  }
  remove_aside(path);
  return {};
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
  const Path file = path / kManifestFile;
  if (!is_there(file)) {
    return fail(ErrorKind::NotFound, is_there(path)
                                         ? fmt::format("{} is not a checkpoint: it has no {}",
                                                       path.string(), kManifestFile)
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
    KEDGE_TRY(read_checked(path_, part,
                           [](std::span<const std::uint8_t>) -> Result<void> { return {}; }));
  }
  return {};
}

std::vector<std::string> Checkpoint::part_names() const {
  std::vector<std::string> names;
  for (const PartEntry& part : manifest_->parts) {
    names.push_back(part.name);
  }
  return names;
}

std::uint64_t Checkpoint::bytes() const {
  std::uint64_t bytes = 0;
  for (const PartEntry& part : manifest_->parts) {
    bytes += part.size;
  }
  return bytes;
}

}  // namespace kedge::checkpoint
