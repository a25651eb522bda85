#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checkpoint/internal/folder.h"
#include "checkpoint/internal/manifest.h"
#include "checkpoint/internal/pieces.h"
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

Slice slice_of(const TensorEntry& entry) {
  return {.offset = entry.slice_offset, .shape = entry.slice_shape};
}

// The shards of one part, from many writers, as one file.
class JoinedFile : public TensorFile {
 public:
  // The manifest's entry of each shard, and the shard.
  using Shards = std::vector<std::pair<const ShardEntry*, std::unique_ptr<TensorFile>>>;

  // The manifest must outlive it, and the pieces of each tensor be the whole of it.
  explicit JoinedFile(Shards shards) : shards_(std::move(shards)) {}

  // Puts tensors that lie in pieces together when it is first asked.
  const std::vector<TensorView>& tensors() const override {
    std::call_once(is_joined_, [this] { join(); });
    return tensors_;
  }

  const std::map<std::string, std::string>& metadata() const override {
    return shards_.front().second->metadata();
  }

  // False: there is no such tensor.
  bool read_slice(const std::string& name, const Slice& wanted, std::span<std::uint8_t> out) const {
    bool is_found = false;
    each_piece([&](const TensorEntry& entry, const TensorView& view) {
      if (entry.name == name) {
        is_found = true;
        copy_common({.slice = slice_of(entry), .bytes = view.bytes}, wanted, size_of(view.type),
                    out);
      }
    });
    return is_found;
  }

 private:
  void each_piece(const std::function<void(const TensorEntry&, const TensorView&)>& visit) const {
    for (const auto& [entry, file] : shards_) {
      for (std::size_t i = 0; i < entry->tensors.size(); ++i) {
        visit(entry->tensors[i], file->tensors()[i]);
      }
    }
  }

  void join() const {
    std::map<std::string, std::vector<std::uint8_t>*> begun;
    each_piece([&](const TensorEntry& entry, const TensorView& view) {
      if (entry.slice_shape == entry.shape) {
        tensors_.push_back(view);
        return;
      }
      std::vector<std::uint8_t>*& memory = begun[entry.name];
      if (memory == nullptr) {
        const Slice whole{.offset = std::vector<std::int64_t>(entry.shape.size(), 0),
                          .shape = entry.shape};
        std::uint64_t count = 1;
        for (const std::int64_t size : entry.shape) {
          count *= static_cast<std::uint64_t>(size);
        }
        memory = &memory_.emplace_back(count * static_cast<std::uint64_t>(size_of(view.type)));
        read_slice(entry.name, whole, *memory);
        tensors_.push_back(
            {.name = entry.name, .type = view.type, .shape = entry.shape, .bytes = *memory});
      }
    });
    if (shards_.size() > 1) {  // who wrote which must not matter to what is read
      std::ranges::sort(tensors_, {}, &TensorView::name);
    }
  }

  Shards shards_;
  mutable std::once_flag is_joined_;
  mutable std::vector<TensorView> tensors_;
  mutable std::list<std::vector<std::uint8_t>> memory_;  // of joined tensors
};

// Each tensor's pieces are of one tensor and make it up.
Result<void> check_pieces(const Path& path, const Manifest& manifest) {
  std::map<std::pair<std::string, std::string>, std::vector<const TensorEntry*>> tensors;
  for (const ShardEntry& shard : manifest.shards) {
    for (const TensorEntry& tensor : shard.tensors) {
      tensors[{shard.name, tensor.name}].push_back(&tensor);
    }
  }
  for (const auto& [names, entries] : tensors) {
    std::vector<Slice> slices;
    for (const TensorEntry* entry : entries) {
      const bool is_alike = entry->type == entries.front()->type &&
                            entry->shape == entries.front()->shape &&
                            entry->slice_offset.size() == entry->shape.size() &&
                            entry->slice_shape.size() == entry->shape.size();
      if (!is_alike) {
        return torn(path, fmt::format("the pieces of tensor '{}' do not fit", names.second));
      }
      slices.push_back(slice_of(*entry));
    }
    if (const auto gap = find_gap(slices, entries.front()->shape)) {
      return torn(path, fmt::format("tensor '{}' {}", names.second, *gap));
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
  KEDGE_TRY(check_pieces(path, *checkpoint.manifest_));
  std::map<std::string, JoinedFile::Shards> files;
  for (const ShardEntry& shard : checkpoint.manifest_->shards) {
    files[shard.name].emplace_back(&shard, KEDGE_TRY(open_shard(path, shard)));
  }
  for (auto& [name, shards] : files) {
    checkpoint.parts_[name] = std::make_unique<JoinedFile>(std::move(shards));
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

Result<void> Checkpoint::read_slice(const std::string& part, const std::string& tensor,
                                    const Slice& slice, std::span<std::uint8_t> out) const {
  const auto& file = static_cast<const JoinedFile&>(this->part(part));
  if (!file.read_slice(tensor, slice, out)) {
    return fail(ErrorKind::Usage,
                fmt::format("the checkpoint {} has no tensor '{}'", path_.string(), tensor));
  }
  return {};
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
