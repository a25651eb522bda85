#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <set>
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
Result<void> compare_headers(const Path& path, const ShardEntry& shard, const TensorFile& file) {
  const auto& tensors = file.tensors();
  bool is_same = tensors.size() == shard.tensors.size();
  for (std::size_t i = 0; is_same && i < tensors.size(); ++i) {
    const TensorEntry& entry = shard.tensors[i];
    const std::uint64_t chunk_count = (entry.bytes + kChunkBytes - 1) / kChunkBytes;
    is_same = tensors[i].name == entry.name && tensors[i].type == entry.type &&
              tensors[i].shape == entry.slice_shape && tensors[i].bytes.size() == entry.bytes &&
              entry.chunks.size() == chunk_count;
  }
  if (!is_same) {
    return torn(path, fmt::format("{} does not hold the tensors its manifest lists", shard.file));
  }
  return {};
}

Result<std::unique_ptr<TensorFile>> open_shard(const Path& path, const ShardEntry& shard) {
  const Path file = path / shard.file;
  if (!is_there(file)) {
    return torn(path, fmt::format("shard {} is missing", shard.file));
  }
  const MappedFile map = KEDGE_TRY(MappedFile::open(file));
  if (map.bytes().size() != shard.size) {
    return torn(path, fmt::format("shard {} has {} of {} bytes", shard.file, map.bytes().size(),
                                  shard.size));
  }
  std::uint64_t data_bytes = 0;
  for (const TensorEntry& tensor : shard.tensors) {
    data_bytes += tensor.bytes;
  }
  if (data_bytes > shard.size ||
      xxh3_64(map.bytes().first(static_cast<std::size_t>(shard.size - data_bytes))) !=
          shard.header_hash) {
    return torn(path, fmt::format("the header of shard {} does not match its hash", shard.file));
  }
  auto tensors = KEDGE_TRY(open_safetensors(file));
  KEDGE_TRY(compare_headers(path, shard, *tensors));
  return tensors;
}

// The shards of one part, from many writers, as one file.
class JoinedFile : public TensorFile {
 public:
  explicit JoinedFile(std::vector<std::unique_ptr<TensorFile>> files) : files_(std::move(files)) {
    for (const auto& file : files_) {
      tensors_.insert(tensors_.end(), file->tensors().begin(), file->tensors().end());
    }
    // Who wrote which must not matter to what is read.
    std::ranges::sort(tensors_, {}, &TensorView::name);
  }

  const std::vector<TensorView>& tensors() const override { return tensors_; }

  const std::map<std::string, std::string>& metadata() const override {
    return files_.front()->metadata();
  }

 private:
  std::vector<std::unique_ptr<TensorFile>> files_;
  std::vector<TensorView> tensors_;
};

// A tensor lies whole in one shard: nothing here puts pieces together.
Result<void> check_whole(const Path& path, const ShardEntry& shard, std::set<std::string>& seen) {
  for (const TensorEntry& tensor : shard.tensors) {
    if (tensor.slice_shape != tensor.shape) {
      return torn(path, fmt::format("tensor '{}' lies in pieces, which this kedge cannot join",
                                    tensor.name));
    }
    if (!seen.insert(shard.name + "/" + tensor.name).second) {
      return torn(path, fmt::format("tensor '{}' is there twice", tensor.name));
    }
  }
  return {};
}

}  // namespace

std::vector<std::size_t> assign_writers(std::span<const std::uint64_t> sizes, std::size_t writers) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return sizes[i]; });
  std::vector<std::uint64_t> loads(writers, 0);
  std::vector<std::size_t> owners(sizes.size());
  for (const std::size_t i : order) {
    const auto lightest = std::ranges::min_element(loads);
    owners[i] = static_cast<std::size_t>(lightest - loads.begin());
    *lightest += sizes[i];
  }
  return owners;
}

namespace {

Result<std::uint64_t> write_in_shards(const Path& folder, std::span<const Part> parts,
                                      const nlohmann::json& state, std::int64_t shards) {
  KEDGE_TRY(make_dirs(folder));
  std::vector<ShardEntry> entries;
  for (const Part& part : parts) {
    std::vector<std::uint64_t> sizes;
    for (const TensorView& tensor : part.tensors) {
      sizes.push_back(tensor.bytes.size());
    }
    const auto owners = assign_writers(sizes, static_cast<std::size_t>(shards));
    for (std::int64_t shard = 0; shard < shards; ++shard) {
      Part piece{.name = part.name, .tensors = {}};
      for (std::size_t i = 0; i < owners.size(); ++i) {
        if (owners[i] == static_cast<std::size_t>(shard)) {
          piece.tensors.push_back(part.tensors[i]);
        }
      }
      for (ShardEntry& entry : KEDGE_TRY(write_shards(folder, {&piece, 1}, shard, shards))) {
        entries.push_back(std::move(entry));
      }
    }
  }
  return write_manifest(folder, std::move(entries), state);
}

}  // namespace

Result<void> write_checkpoint(const Path& target, std::span<const Part> parts,
                              const nlohmann::json& state, std::int64_t shards) {
  const Path path = without_trailing_slash(target);
  KEDGE_TRY(check_replaceable(path));
  const Path fresh = temporary_of(path);
  remove_quietly(fresh);
  const auto written = write_in_shards(fresh, parts, state, shards);
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
  std::map<std::string, std::vector<std::unique_ptr<TensorFile>>> files;
  std::set<std::string> seen;
  for (const ShardEntry& shard : checkpoint.manifest_->shards) {
    KEDGE_TRY(check_whole(path, shard, seen));
    files[shard.name].push_back(KEDGE_TRY(open_shard(path, shard)));
  }
  for (auto& [name, shards] : files) {
    checkpoint.parts_[name] = shards.size() == 1 ? std::move(shards.front())
                                                 : std::make_unique<JoinedFile>(std::move(shards));
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
  for (const ShardEntry& shard : manifest_->shards) {
    KEDGE_TRY(read_checked(path_, shard,
                           [](std::span<const std::uint8_t>) -> Result<void> { return {}; }));
  }
  return {};
}

std::vector<std::string> Checkpoint::part_names() const {
  std::vector<std::string> names;
  for (const ShardEntry& shard : manifest_->shards) {
    if (std::ranges::find(names, shard.name) == names.end()) {
      names.push_back(shard.name);
    }
  }
  return names;
}

std::uint64_t Checkpoint::bytes() const {
  std::uint64_t bytes = 0;
  for (const ShardEntry& shard : manifest_->shards) {
    bytes += shard.size;
  }
  return bytes;
}

}  // namespace kedge::checkpoint
