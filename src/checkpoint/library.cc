#include "checkpoint/library.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/internal/folder.h"
#include "checkpoint/internal/manifest.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {
namespace {

// Room for .tmp-<pid> and .bad-<n> in the 255 bytes of a name.
constexpr std::size_t kMaxNameBytes = 200;

std::int64_t integer_or_minus_one(const nlohmann::json& state, const char* key) {
  return state.is_object() && state.contains(key) && state[key].is_number_integer()
             ? state[key].get<std::int64_t>()
             : -1;
}

Entry describe_checkpoint(const Path& path, const Manifest& manifest, bool is_fast) {
  Entry entry{.path = path,
              .name = path.filename(),
              .step = integer_or_minus_one(manifest.state, "step"),
              .epoch = integer_or_minus_one(manifest.state, "epoch"),
              .score = std::nullopt,
              .more_is_better = true,
              .bytes = 0,
              .created = manifest.created,
              .is_fast = is_fast};
  const nlohmann::json& state = manifest.state;
  if (state.is_object() && state.contains("score") && state["score"].is_number()) {
    entry.score = state["score"].get<double>();
  }
  if (state.is_object() && state.contains("more_is_better") &&
      state["more_is_better"].is_boolean()) {
    entry.more_is_better = state["more_is_better"].get<bool>();
  }
  for (const ShardEntry& shard : manifest.shards) {
    entry.bytes += shard.size;
  }
  return entry;
}

bool has_shards(const Path& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    if (file->path().extension() == ".safetensors") {
      return true;
    }
  }
  return false;
}

// Looks at one folder; adds it to the entries, to the bad, or to neither.
void look_at(const Path& path, bool is_fast, Listing& listing) {
  const Path place = is_there(path) ? path : aside_of(path);
  if (!is_there(place / kManifestFile)) {
    if (has_shards(place)) {
      listing.bad.push_back(
          {path,
           {ErrorKind::Corrupt,
            fmt::format("checkpoint {} is damaged: {} is missing", path.string(), kManifestFile),
            "use an older checkpoint of the run"}});
    }
    return;
  }
  const auto manifest = read_manifest(place);
  if (manifest) {
    listing.entries.push_back(describe_checkpoint(path, *manifest, is_fast));
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(place / kManifestFile, error);
    listing.entries.back().bytes += error ? 0 : size;
  } else {
    listing.bad.push_back({path, manifest.error()});
  }
}

Result<void> list_folder(const Path& folder, bool is_fast, Listing& listing) {
  std::error_code error;
  std::filesystem::directory_iterator file(folder, error);
  for (const std::filesystem::directory_iterator end; !error && file != end;
       file.increment(error)) {
    const std::string name = file->path().filename();
    const NameKind kind = kind_of_name(name);
    std::error_code status_error;
    if (kind == NameKind::Temporary || kind == NameKind::Bad || file->is_symlink(status_error) ||
        !file->is_directory(status_error)) {
      continue;
    }
    if (kind == NameKind::Plain) {
      look_at(file->path(), is_fast, listing);
    } else if (const Path original = folder / Path(name).stem(); !is_there(original)) {
      look_at(original, is_fast, listing);
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return std::unexpected(io_error("cannot list", folder, error.value()));
  }
  return {};
}

bool is_older(const Entry& a, const Entry& b) {
  if (a.step != b.step) {
    return a.step < b.step;
  }
  if (a.is_fast != b.is_fast) {
    return a.is_fast;
  }
  return a.created != b.created ? a.created < b.created : a.name < b.name;
}

// Moves a damaged one away, and tells where it is now.
Bad set_aside(const Path& path, Error error) {
  if (error.kind == ErrorKind::Corrupt) {
    auto moved = set_bad_aside(path);
    if (moved) {
      return {std::move(*moved), std::move(error)};
    }
    error.message += fmt::format("; it could not be set aside: {}", moved.error().message);
  }
  return {path, std::move(error)};
}

// The first entry of each full bucket of `every`.
void keep_milestones(std::span<const Entry> entries, std::int64_t every,
                     std::int64_t Entry::* position, std::set<std::string>& kept) {
  std::int64_t last_bucket = 0;
  for (const Entry& entry : entries) {
    const std::int64_t bucket = every > 0 && entry.*position > 0 ? entry.*position / every : 0;
    if (bucket > last_bucket) {
      kept.insert(entry.path);
      last_bucket = bucket;
    }
  }
}

std::vector<const Entry*> sort_by_score(std::span<const Entry> entries, bool more_is_better) {
  std::vector<const Entry*> scored;
  for (const Entry& entry : entries) {
    if (entry.score && !std::isnan(*entry.score)) {
      scored.push_back(&entry);
    }
  }
  std::ranges::stable_sort(scored, [&](const Entry* a, const Entry* b) {
    return more_is_better ? *a->score > *b->score : *a->score < *b->score;
  });
  return scored;
}

Result<void> replace_link(const Path& link, const std::string& target) {
  std::error_code error;
  if (std::filesystem::read_symlink(link, error) == target && !error) {
    return {};
  }
  const Path beside = temporary_of(link);
  ::unlink(beside.c_str());
  if (::symlink(target.c_str(), beside.c_str()) != 0) {
    return std::unexpected(io_error("cannot make the link", link, errno));
  }
  if (::rename(beside.c_str(), link.c_str()) != 0) {
    const int why = errno;
    ::unlink(beside.c_str());
    return std::unexpected(io_error("cannot replace the link", link, why));
  }
  return {};
}

}  // namespace

Result<Listing> list_checkpoints(const Folders& folders) {
  Listing listing;
  KEDGE_TRY(list_folder(folders.durable, false, listing));
  if (!folders.fast.empty()) {
    KEDGE_TRY(list_folder(folders.fast, true, listing));
  }
  std::ranges::sort(listing.entries, is_older);
  std::ranges::sort(listing.bad, {}, &Bad::path);
  return listing;
}

Result<Newest> open_newest(const Folders& folders) {
  Listing listing = KEDGE_TRY(list_checkpoints(folders));
  Newest newest;
  for (Bad& bad : listing.bad) {
    newest.bad.push_back(set_aside(bad.path, std::move(bad.error)));
  }
  while (!listing.entries.empty()) {
    Entry entry = std::move(listing.entries.back());
    listing.entries.pop_back();
    auto checkpoint = open_verified(entry.path);
    if (checkpoint) {
      newest.checkpoint = std::move(*checkpoint);
      newest.entry = std::move(entry);
      return newest;
    }
    newest.bad.push_back(set_aside(entry.path, std::move(checkpoint).error()));
    if (newest.bad.back().path != entry.path && is_there(entry.path)) {
      // The one that it had replaced is back.
      look_at(entry.path, entry.is_fast, listing);
      std::ranges::sort(listing.entries, is_older);
    }
  }
  for (const Bad& bad : newest.bad) {
    if (bad.error.kind != ErrorKind::Corrupt) {
      return std::unexpected(bad.error);
    }
  }
  return newest;
}

const Entry* find_best(std::span<const Entry> entries, bool more_is_better) {
  const auto scored = sort_by_score(entries, more_is_better);
  return scored.empty() ? nullptr : scored.front();
}

std::vector<Entry> choose_expired(std::span<const Entry> entries, const Retention& retention) {
  std::set<std::string> kept;
  const auto last = static_cast<std::size_t>(std::max<std::int64_t>(retention.keep_last, 1));
  for (const Entry& entry : entries.last(std::min(last, entries.size()))) {
    kept.insert(entry.path);
  }
  const auto scored = sort_by_score(entries, retention.more_is_better);
  const auto best = static_cast<std::size_t>(std::max<std::int64_t>(retention.keep_best, 0));
  for (std::size_t i = 0; i < std::min(best, scored.size()); ++i) {
    kept.insert(scored[i]->path);
  }
  keep_milestones(entries, retention.keep_every_steps, &Entry::step, kept);
  keep_milestones(entries, retention.keep_every_epochs, &Entry::epoch, kept);
  std::vector<Entry> expired;
  std::ranges::copy_if(entries, std::back_inserter(expired),
                       [&](const Entry& entry) { return !kept.contains(entry.path); });
  return expired;
}

Result<void> remove_checkpoint(const Entry& entry) {
  return remove_folder(is_there(entry.path) ? entry.path : aside_of(entry.path));
}

Result<void> update_links(const Path& folder, std::span<const Entry> entries, bool more_is_better) {
  if (entries.empty()) {
    return {};
  }
  KEDGE_TRY(replace_link(folder / "last", entries.back().name));
  if (const Entry* best = find_best(entries, more_is_better)) {
    KEDGE_TRY(replace_link(folder / "best", best->name));
  }
  return {};
}

Result<std::string> render_name(std::string_view pattern, const NameFields& fields) {
  std::string name;
  try {
    name = fmt::vformat(
        fmt::string_view(pattern.data(), pattern.size()),
        fmt::make_format_args(fmt::arg("step", fields.step), fmt::arg("epoch", fields.epoch),
                              fmt::arg("seed", fields.seed), fmt::arg("run", fields.run)));
  } catch (const fmt::format_error& error) {
    return fail(ErrorKind::Usage,
                fmt::format("'{}' is not a pattern for names: {}", pattern, error.what()),
                "known: {step}, {epoch}, {seed}, {run}, with a width as in step-{step:08}");
  }
  const bool is_plain = std::ranges::none_of(
      name, [](char c) { return c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
  if (name.empty() || name.front() == '.' || !is_plain || name.size() > kMaxNameBytes ||
      kind_of_name(name) != NameKind::Plain || name == "last" || name == "best") {
    return fail(ErrorKind::Usage,
                fmt::format("'{}' cannot be the name of a checkpoint (from '{}')", name, pattern),
                "names have no '/', do not begin with '.', are not last or best (links), and do "
                "not end in .old, .bad or .tmp-<number>");
  }
  return name;
}

}  // namespace kedge::checkpoint
