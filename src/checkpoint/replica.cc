#include "checkpoint/replica.h"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <span>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint/internal/folder.h"

namespace kedge::checkpoint {
namespace {

// A training that keeps replicas writes one every few seconds or minutes.
constexpr auto kForgottenAfter = std::chrono::hours(24);

// The time of the last change in any of a run's folders.
std::filesystem::file_time_type last_change(const Path& run) {
  std::error_code error;
  auto newest = std::filesystem::last_write_time(run, error);
  for (std::filesystem::directory_iterator host(run, error), end; !error && host != end;
       host.increment(error)) {
    std::error_code ignored;
    newest = std::max(newest, host->last_write_time(ignored));
  }
  return newest;
}

void remove_forgotten(const Path& all) {
  std::error_code error;
  const auto now = std::filesystem::file_time_type::clock::now();
  for (std::filesystem::directory_iterator run(all, error), end; !error && run != end;
       run.increment(error)) {
    if (now - last_change(run->path()) > kForgottenAfter) {
      remove_quietly(run->path());
    }
  }
}

// The folder is in a place that everybody may write to.
Result<void> make_private(const Path& path) {
  if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return std::unexpected(io_error("cannot make", path, errno));
  }
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) {
    return std::unexpected(io_error("cannot look at", path, errno));
  }
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) {
    return fail(ErrorKind::Io, fmt::format("{} belongs to somebody else", path.string()));
  }
  return {};
}

}  // namespace

Path replicas_of_user(const Path& memory) {
  return memory / fmt::format("kedge-{}", ::geteuid());
}

Path replica_folder(const Path& all, const std::string& run, const std::string& host) {
  return all / run / host;
}

Result<void> make_replica_folder(const Path& all, const Path& folder) {
  KEDGE_TRY(make_private(all));
  remove_forgotten(all);
  return make_dirs(folder);
}

std::optional<Entry> find_replica(const Path& folder) {
  auto listing = list_checkpoints({.durable = folder});
  if (!listing || listing->entries.empty()) {
    return std::nullopt;
  }
  return std::move(listing->entries.back());
}

Result<Checkpoint> open_replica(const Path& path) {
  return open_verified(path);
}

ReplicaImport::ReplicaImport(const Path& folder, const std::string& name)
    : path_(folder / name), fresh_(temporary_of(path_)) {
  remove_quietly(fresh_);
}

ReplicaImport::~ReplicaImport() {
  remove_quietly(fresh_);
}

Result<void> ReplicaImport::append(const std::string& file, std::span<const std::uint8_t> bytes) {
  KEDGE_TRY(make_dirs(fresh_));
  const Path path = fresh_ / file;
  const OwnedFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (fd.get() < 0) {
    return std::unexpected(io_error("cannot write", path, errno));
  }
  return write_all(fd.get(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

Result<Path> ReplicaImport::commit() {
  KEDGE_TRY(commit_folder(fresh_, path_));
  remove_aside(path_);
  return path_;
}

void remove_replicas(const Path& folder) {
  remove_quietly(folder);
  ::rmdir(folder.parent_path().c_str());
  ::rmdir(folder.parent_path().parent_path().c_str());
}

}  // namespace kedge::checkpoint
