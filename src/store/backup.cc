#include "store/backup.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "store/blobs.h"
#include "store/internal/blob_references.h"
#include "store/internal/database.h"
#include "store/internal/schema.h"
#include "store/internal/table_copy.h"

namespace kedge::store {
namespace {

Result<std::unique_ptr<Database>> open_reader(const Path& data, const std::string& address) {
  return open_database(address.empty() ? data.string() : address, Access::Reader);
}

Result<std::unique_ptr<BlobStore>> open_blobs(const Path& data, const std::string& address) {
  return BlobStore::open(address.empty() ? (data / "blobs").string() : address);
}

Result<void> sync_file(const Path& path) {
  const OwnedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 || ::fsync(file.get()) != 0) {
    return std::unexpected(io_error("cannot sync", path, errno));
  }
  return {};
}

Result<void> copy_blob(BlobStore& from, BlobStore& to, const std::string& digest) {
  const auto writer = KEDGE_TRY(to.begin());
  KEDGE_TRY(from.read(digest, {}, [&](std::string_view bytes) { return writer->add(bytes); }));
  KEDGE_TRY(writer->commit(digest));
  return {};
}

Result<void> copy_blobs(const StoreCopy& copy, const Path& database_folder, CopyReport& report) {
  const auto from = KEDGE_TRY(open_blobs(copy.from, copy.from_blobs));
  const auto to = KEDGE_TRY(open_blobs(copy.to, {}));
  const auto database = KEDGE_TRY(open_database(database_folder.string(), Access::Reader));
  const auto blobs = KEDGE_TRY(list_referred_blobs(*database));
  report.blobs = blobs.size();
  std::size_t done = 0;
  for (const StoredBlob& blob : blobs) {
    if (!KEDGE_TRY(to->find_size(blob.digest))) {
      if (const auto copied = copy_blob(*from, *to, blob.digest)) {
        ++report.blobs_copied;
        report.bytes_copied += blob.size;
      } else if (copied.error().kind == ErrorKind::Io) {
        return copied;  // the disk is full, say: the next one would fail too
      } else {
        report.problems.push_back(copied.error().message);
      }
    }
    if (copy.on_blob) {
      copy.on_blob(++done, blobs.size());
    }
  }
  return {};
}

// The database in `part` becomes that of the copy.
Result<void> finish(const StoreCopy& copy, const Path& part) {
  if (!copy.to_db.empty()) {
    const auto from = KEDGE_TRY(open_database(part.string(), Access::Owner));
    const auto to = KEDGE_TRY(open_database(copy.to_db, Access::Owner));
    KEDGE_TRY(migrate(*from));
    KEDGE_TRY(migrate(*to));
    return copy_tables(*from, *to, *from);
  }
  KEDGE_TRY(sync_file(part / "kedge.db"));
  std::error_code error;
  std::filesystem::rename(part / "kedge.db", copy.to / "kedge.db", error);
  if (error) {
    return std::unexpected(io_error("cannot rename", part / "kedge.db", error.value()));
  }
  return sync_dir(copy.to);
}

Result<void> check_blob(BlobStore& blobs, const std::string& digest, bool is_quick,
                        std::vector<std::string>& problems) {
  if (!KEDGE_TRY(blobs.find_size(digest))) {
    problems.push_back(fmt::format("the blob {} is gone", digest));
    return {};
  }
  if (const auto sound = is_quick ? Result<void>() : blobs.verify(digest); !sound) {
    problems.push_back(sound.error().message);
  }
  return {};
}

}  // namespace

Result<CopyReport> copy_store(const StoreCopy& copy) {
  if (!copy.may_replace && std::filesystem::exists(copy.to / "kedge.db")) {
    return fail(ErrorKind::Usage, fmt::format("{} holds a store already", copy.to.string()),
                "name a folder that does not");
  }
  const auto database = KEDGE_TRY(open_reader(copy.from, copy.from_db));
  // A folder of its own, because a store is named by its folder. An interrupted copy has left one.
  const Path part = copy.to / "part";
  std::error_code ignored;
  std::filesystem::remove_all(part, ignored);
  KEDGE_TRY(make_dirs(part));
  KEDGE_TRY(database->copy_to(part));
  CopyReport report;
  report.database_bytes = KEDGE_TRY(size_of_file(part / "kedge.db"));
  KEDGE_TRY(copy_blobs(copy, part, report));
  KEDGE_TRY(finish(copy, part));
  std::filesystem::remove_all(part, ignored);
  return report;
}

Result<CheckReport> check_store(const StoreCheck& check) {
  const auto database = KEDGE_TRY(open_reader(check.data, check.db));
  CheckReport report{.problems = KEDGE_TRY(database->find_damage())};
  report.runs =
      static_cast<std::size_t>(KEDGE_TRY(database->query_integer("SELECT COUNT(*) FROM runs", {})));
  const auto kept = KEDGE_TRY(open_blobs(check.data, check.blobs));
  const auto referred = KEDGE_TRY(list_referred_blobs(*database));
  for (const StoredBlob& blob : referred) {
    KEDGE_TRY(check_blob(*kept, blob.digest, check.is_quick, report.problems));
    if (++report.blobs; check.on_blob) {
      check.on_blob(report.blobs, referred.size());
    }
  }
  return report;
}

}  // namespace kedge::store
