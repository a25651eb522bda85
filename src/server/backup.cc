#include "server/backup.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "store/blob_references.h"
#include "store/blobs.h"
#include "store/database.h"

namespace kedge::server {
namespace {

Result<std::unique_ptr<store::Database>> open_reader(const Path& data) {
  if (!std::filesystem::exists(data / "kedge.db")) {
    return fail(ErrorKind::NotFound, fmt::format("there is no store in {}", data.string()),
                "a store is the --data folder of a server, with kedge.db in it");
  }
  return store::open_database(store::parse_address(data.string()), store::Access::Reader);
}

Result<std::unique_ptr<store::BlobStore>> open_blobs(const Path& data, const std::string& address) {
  return store::BlobStore::open(address.empty() ? (data / "blobs").string() : address);
}

// The whole database, as of now, in a file of its own.
Result<void> copy_database(const Path& from, const Path& to) {
  const auto database = KEDGE_TRY(open_reader(from));
  std::error_code ignored;
  std::filesystem::remove(to, ignored);
  const auto nothing = [](const store::SqlRow&) -> Result<void> { return {}; };
  // A reader's connection refuses to write anything, also the copy.
  KEDGE_TRY(database->query("PRAGMA query_only=OFF", {}, nothing));
  KEDGE_TRY(database->run("VACUUM INTO $1", {to.string()}));
  const OwnedFd file(::open(to.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 || ::fsync(file.get()) != 0) {
    return std::unexpected(io_error("cannot sync", to, errno));
  }
  return {};
}

Result<void> copy_blob(store::BlobStore& from, store::BlobStore& to, const std::string& digest) {
  const auto writer = KEDGE_TRY(to.begin());
  KEDGE_TRY(from.read(digest, {}, [&](std::string_view bytes) { return writer->add(bytes); }));
  KEDGE_TRY(writer->commit(digest));
  return {};
}

Result<void> copy_blobs(const StoreCopy& copy, const Path& database_folder, CopyReport& report) {
  const auto from = KEDGE_TRY(open_blobs(copy.from, copy.from_blobs));
  const auto to = KEDGE_TRY(open_blobs(copy.to, {}));
  const auto database = KEDGE_TRY(open_reader(database_folder));
  const auto blobs = KEDGE_TRY(store::list_referred_blobs(*database));
  report.blobs = blobs.size();
  std::size_t done = 0;
  for (const store::StoredBlob& blob : blobs) {
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

Result<void> check_blob(store::BlobStore& blobs, const std::string& digest, bool is_quick,
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

Result<std::unique_ptr<store::Database>> open_checked(const StoreCheck& check) {
  return check.db.empty()
             ? open_reader(check.data)
             : store::open_database(store::parse_address(check.db), store::Access::Reader);
}

Result<void> check_sqlite(store::Database& database, CheckReport& report) {
  KEDGE_TRY(
      database.query("PRAGMA integrity_check", {}, [&](const store::SqlRow& row) -> Result<void> {
        if (row.text(0) != "ok") {
          report.problems.push_back(row.string(0));
        }
        return {};
      }));
  return database.query(
      "PRAGMA foreign_key_check", {}, [&](const store::SqlRow& row) -> Result<void> {
        report.problems.push_back(fmt::format("a row of {} belongs to nothing", row.text(0)));
        return {};
      });
}

}  // namespace

Result<CopyReport> copy_store(const StoreCopy& copy) {
  if (!copy.may_replace && std::filesystem::exists(copy.to / "kedge.db")) {
    return fail(ErrorKind::Usage, fmt::format("{} holds a store already", copy.to.string()),
                "name a folder that does not");
  }
  // A folder of its own, because a store is named by its folder.
  const Path part = copy.to / "part";
  KEDGE_TRY(make_dirs(part));
  KEDGE_TRY(copy_database(copy.from, part / "kedge.db"));
  CopyReport report;
  report.database_bytes = KEDGE_TRY(size_of_file(part / "kedge.db"));
  KEDGE_TRY(copy_blobs(copy, part, report));
  std::error_code error;
  std::filesystem::rename(part / "kedge.db", copy.to / "kedge.db", error);
  if (error) {
    return std::unexpected(io_error("cannot rename", part / "kedge.db", error.value()));
  }
  KEDGE_TRY(sync_dir(copy.to));
  std::filesystem::remove_all(part, error);
  return report;
}

Result<CheckReport> check_store(const StoreCheck& check) {
  const auto database = KEDGE_TRY(open_checked(check));
  CheckReport report;
  if (check.db.empty()) {
    KEDGE_TRY(check_sqlite(*database, report));
  }
  report.runs =
      static_cast<std::size_t>(KEDGE_TRY(database->query_integer("SELECT COUNT(*) FROM runs", {})));
  const auto kept = KEDGE_TRY(open_blobs(check.data, check.blobs));
  const auto referred = KEDGE_TRY(store::list_referred_blobs(*database));
  for (const store::StoredBlob& blob : referred) {
    KEDGE_TRY(check_blob(*kept, blob.digest, check.is_quick, report.problems));
    if (++report.blobs; check.on_blob) {
      check.on_blob(report.blobs, referred.size());
    }
  }
  return report;
}

}  // namespace kedge::server
