#include "checkpoint/internal/folder.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
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

#include "checkpoint/checkpoint.h"
#include "checkpoint/internal/manifest.h"
#include "checkpoint/internal/shard_writer.h"
#include "checkpoint/tensor_file.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {
namespace {

constexpr std::string_view kTemporary = ".tmp-";
constexpr std::string_view kAside = ".old";
constexpr std::string_view kBad = ".bad";

bool is_part_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

bool are_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Whether `name` is something, `mark`, and digits.
bool has_numbered_mark(std::string_view name, std::string_view mark) {
  const std::size_t at = name.rfind(mark);
  return at != std::string_view::npos && at > 0 && are_digits(name.substr(at + mark.size()));
}

Result<void> rename_folder(const Path& from, const Path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    return std::unexpected(io_error(fmt::format("cannot rename {} to", from.string()), to, errno));
  }
  return {};
}

ShardEntry describe_shard(const Part& part, const std::string& file, WrittenShard shard) {
  ShardEntry entry{.name = part.name,
                   .file = file,
                   .size = shard.size,
                   .header_hash = shard.header_hash,
                   .tensors = {}};
  for (WrittenTensor& written : shard.tensors) {
    const TensorView& tensor = *written.tensor;
    const bool is_whole = tensor.whole_shape.empty();
    const std::vector<std::int64_t> origin(tensor.shape.size(), 0);
    entry.tensors.push_back({.name = tensor.name,
                             .type = tensor.type,
                             .shape = is_whole ? tensor.shape : tensor.whole_shape,
                             .slice_offset = is_whole ? origin : tensor.slice_offset,
                             .slice_shape = tensor.shape,
                             .offset = written.offset,
                             .bytes = tensor.bytes.size(),
                             .chunks = std::move(written.chunks)});
  }
  return entry;
}

std::vector<Path> paths_in(const Path& folder) {
  std::vector<Path> paths;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    paths.push_back(entry->path());
  }
  return paths;
}

}  // namespace

NameKind kind_of_name(std::string_view name) {
  if (has_numbered_mark(name, kTemporary)) {
    return NameKind::Temporary;
  }
  if (name.size() > kAside.size() && name.ends_with(kAside)) {
    return NameKind::Aside;
  }
  if ((name.size() > kBad.size() && name.ends_with(kBad)) || has_numbered_mark(name, ".bad-")) {
    return NameKind::Bad;
  }
  return NameKind::Plain;
}

bool is_there(const Path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

Path without_trailing_slash(const Path& path) {
  return path.has_filename() ? path : path.parent_path();
}

Path parent_of(const Path& path) {
  return path.has_parent_path() ? path.parent_path() : Path(".");
}

Path aside_of(const Path& path) {
  return path.string() + std::string(kAside);
}

Path temporary_of(const Path& path) {
  return fmt::format("{}{}{}", path.string(), kTemporary, ::getpid());
}

Result<void> check_replaceable(const Path& path) {
  if (is_there(path) && !is_there(path / kManifestFile)) {
    return fail(ErrorKind::Usage,
                fmt::format("{} exists and is not a checkpoint; it is left alone", path.string()),
                "choose another name, or move it away");
  }
  return {};
}

std::string shard_name(const std::string& part, std::int64_t writer, std::int64_t writers) {
  return writers == 1 ? part + ".safetensors"
                      : fmt::format("{}-{:05}-of-{:05}.safetensors", part, writer + 1, writers);
}

bool link_shard(const Linkable& from, const std::string& file, const Path& target) {
  return ::link((from.folder / file).c_str(), target.c_str()) == 0;
}

Result<std::vector<ShardEntry>> write_shards(const Path& folder, std::span<const Part> parts,
                                             std::int64_t writer, std::int64_t writers,
                                             const Linkable& earlier) {
  std::vector<ShardEntry> entries;
  for (const Part& part : parts) {
    KEDGE_CHECK(is_part_name(part.name), "parts have plain lower-case names");
    if (writers > 1 && part.tensors.empty()) {
      continue;
    }
    const std::string file =
        shard_name(part.is_frozen ? part.name + "-frozen" : part.name, writer, writers);
    const auto linkable = std::ranges::find(earlier.shards, file, &ShardEntry::file);
    if (part.is_frozen && linkable != earlier.shards.end() &&
        link_shard(earlier, file, folder / file)) {
      entries.push_back(*linkable);
      continue;
    }
    WrittenShard shard = KEDGE_TRY(write_shard(folder / file, part.tensors, {{"format", "pt"}}));
    entries.push_back(describe_shard(part, file, std::move(shard)));
  }
  return entries;
}

Result<std::uint64_t> write_manifest(const Path& folder, std::vector<ShardEntry> shards,
                                     const nlohmann::json& state) {
  Manifest manifest;
  manifest.created = fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::now()));
  manifest.state = state;
  manifest.shards = std::move(shards);
  std::uint64_t bytes = 0;
  for (const ShardEntry& shard : manifest.shards) {
    bytes += shard.size;
  }
  const std::string text = render_manifest(manifest);
  // Also syncs the folder.
  KEDGE_TRY(write_file_atomic(folder / kManifestFile, text));
  return bytes + text.size();
}

Result<void> commit_folder(const Path& fresh, const Path& path) {
  if (is_there(path)) {
    const Path aside = aside_of(path);
    remove_quietly(aside);
    KEDGE_TRY(rename_folder(path, aside));
  }
  KEDGE_TRY(rename_folder(fresh, path));
  return sync_dir(parent_of(path));
}

void remove_aside(const Path& path) {
  remove_quietly(aside_of(path));
}

Result<Path> set_bad_aside(const Path& path) {
  Path bad = path.string() + std::string(kBad);
  for (int i = 2; is_there(bad); ++i) {
    bad = fmt::format("{}{}-{}", path.string(), kBad, i);
  }
  const Path aside = aside_of(path);
  if (!is_there(path)) {
    KEDGE_TRY(rename_folder(aside, bad));
  } else {
    KEDGE_TRY(rename_folder(path, bad));
    if (is_there(aside)) {
      KEDGE_TRY(rename_folder(aside, path));
    }
  }
  KEDGE_TRY(sync_dir(parent_of(path)));
  return bad;
}

Result<void> remove_folder(const Path& path) {
  const Path going = temporary_of(path);
  remove_quietly(going);
  KEDGE_TRY(rename_folder(path, going));
  std::error_code error;
  std::filesystem::remove_all(going, error);
  if (error) {
    return std::unexpected(io_error("cannot remove", going, error.value()));
  }
  return {};
}

void remove_quietly(const Path& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
}

void clean_leftovers(const Path& folder) {
  for (const Path& path : paths_in(folder)) {
    const std::string name = path.filename();
    const NameKind kind = kind_of_name(name);
    if (kind == NameKind::Temporary) {
      remove_quietly(path);
    } else if (kind == NameKind::Aside && is_there(path / kManifestFile)) {
      const Path original = folder / name.substr(0, name.size() - kAside.size());
      if (!is_there(original)) {
        ::rename(path.c_str(), original.c_str());
      } else if (open_verified(original)) {
        remove_quietly(path);
      }
    }
  }
}

Result<Checkpoint> open_verified(const Path& path) {
  Checkpoint checkpoint = KEDGE_TRY(Checkpoint::open(path));
  KEDGE_TRY(checkpoint.verify());
  return checkpoint;
}

Result<Manifest> read_manifest(const Path& folder) {
  const Path file = folder / kManifestFile;
  const std::string text = KEDGE_TRY(read_file(file));
  return parse_manifest(file, text);
}

}  // namespace kedge::checkpoint
