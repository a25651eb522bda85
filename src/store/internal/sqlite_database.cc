#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/file.h"
#include "core/result.h"
#include "store/internal/backends.h"

namespace kedge::store {
namespace {

constexpr const char* kFileName = "kedge.db";

struct CloseStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

struct CloseConnection {
  void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
};

struct Statement {
  std::unique_ptr<sqlite3_stmt, CloseStatement> handle;
  std::vector<int> places;  // of $1, $2, ...: SQLite numbers names in order of appearance
};

class SqliteRow final : public SqlRow {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}

  bool is_null(int column) const override {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
  }

  std::int64_t integer(int column) const override {
    return sqlite3_column_int64(statement_, column);
  }

  double real(int column) const override {
    return is_null(column) ? std::numeric_limits<double>::quiet_NaN()
                           : sqlite3_column_double(statement_, column);
  }

  std::string_view text(int column) const override {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }

  std::string_view blob(int column) const override {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  sqlite3_stmt* statement_;
};

class Binder {
 public:
  Binder(sqlite3_stmt* statement, int place) : statement_(statement), place_(place) {}

  int operator()(std::nullptr_t) const { return sqlite3_bind_null(statement_, place_); }

  int operator()(std::int64_t value) const { return sqlite3_bind_int64(statement_, place_, value); }

  int operator()(double value) const { return sqlite3_bind_double(statement_, place_, value); }

  int operator()(std::string_view text) const {
    const char* data = text.data() == nullptr ? "" : text.data();  // a null pointer would be NULL
    return sqlite3_bind_text64(statement_, place_, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  }

  int operator()(Blob blob) const {
    const char* data = blob.bytes.data() == nullptr ? "" : blob.bytes.data();
    return sqlite3_bind_blob64(statement_, place_, data, blob.bytes.size(), SQLITE_STATIC);
  }

 private:
  sqlite3_stmt* statement_;
  int place_;
};

class SqliteDatabase final : public Database {
 public:
  SqliteDatabase(sqlite3* connection, OwnedFd lock)
      : lock_(std::move(lock)), connection_(connection) {}

  Result<void> reconnect() override { return {}; }  // a file does not go away

  bool is_near() const override { return true; }

  bool has_chores() const override { return log_pages_ >= kMaxLogPages; }

  // Moves the write-ahead log into the database: it waits for the disk.
  Result<void> do_chores() override {
    log_pages_ = 0;  // where readers keep it from its end, the next commit asks again
    return set("wal_checkpoint(PASSIVE)");
  }

  Result<void> copy_to(const Path& folder) override {
    // A reader's connection refuses to write anything, also the copy.
    KEDGE_TRY(set("query_only=OFF"));
    return run("VACUUM INTO $1", {(folder / kFileName).string()});
  }

  Result<std::vector<std::string>> find_damage() override {
    auto found = KEDGE_TRY(list("PRAGMA integrity_check", {}, first_text));
    std::erase(found, "ok");
    for (const std::string& table : KEDGE_TRY(list("PRAGMA foreign_key_check", {}, first_text))) {
      found.push_back(fmt::format("a row of {} belongs to nothing", table));
    }
    return found;
  }

  Result<void> set(std::string_view pragma) {
    return query(fmt::format("PRAGMA {}", pragma), {},
                 [](const SqlRow&) -> Result<void> { return {}; });
  }

  // From now on commits leave checkpoints to do_chores().
  void keep_chores() {
    sqlite3_wal_hook(
        connection_.get(),
        [](void* self, sqlite3*, const char*, int pages) {
          static_cast<SqliteDatabase*>(self)->log_pages_ = pages;
          return SQLITE_OK;
        },
        this);
  }

 protected:
  Result<void> execute(std::string_view sql, std::span<const SqlValue> values,
                       const SqlVisitor* visit) override {
    Statement* statement = KEDGE_TRY(prepare(sql));
    sqlite3_stmt* handle = statement->handle.get();
    KEDGE_CHECK(values.size() == statement->places.size(), "a statement's values do not fit it");
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::visit(Binder(handle, statement->places[i]), values[i].get()) != SQLITE_OK) {
        return failure(sql);
      }
    }
    auto result = step(handle, sql, visit);
    sqlite3_reset(handle);
    sqlite3_clear_bindings(handle);
    return result;
  }

 private:
  Result<void> step(sqlite3_stmt* handle, std::string_view sql, const SqlVisitor* visit) {
    const SqliteRow row(handle);
    for (;;) {
      const int code = sqlite3_step(handle);
      if (code == SQLITE_DONE) {
        return {};
      }
      if (code != SQLITE_ROW) {
        return failure(sql);
      }
      if (visit != nullptr) {
        KEDGE_TRY((*visit)(row));
      }
    }
  }

  Result<Statement*> prepare(std::string_view sql) {
    if (const auto found = statements_.find(sql); found != statements_.end()) {
      return &found->second;
    }
    const std::string text = substitute_types(sql, "INTEGER PRIMARY KEY", "BLOB");
    sqlite3_stmt* handle = nullptr;
    if (sqlite3_prepare_v3(connection_.get(), text.data(), static_cast<int>(text.size()),
                           SQLITE_PREPARE_PERSISTENT, &handle, nullptr) != SQLITE_OK) {
      return failure(sql);
    }
    Statement statement;
    statement.handle.reset(handle);
    for (int i = 1; i <= sqlite3_bind_parameter_count(handle); ++i) {
      statement.places.push_back(
          sqlite3_bind_parameter_index(handle, fmt::format("${}", i).c_str()));
    }
    return &statements_.emplace(std::string(sql), std::move(statement)).first->second;
  }

  std::unexpected<Error> failure(std::string_view sql) {
    const int code = sqlite3_extended_errcode(connection_.get());
    const std::string what = sqlite3_errmsg(connection_.get());
    const int primary = code & 0xFF;
    // The shared memory of the write-ahead log is a file too, and may be the first not to fit.
    const bool is_full =
        primary == SQLITE_FULL || code == SQLITE_IOERR_SHMSIZE ||
        (primary == SQLITE_IOERR && sqlite3_system_errno(connection_.get()) == ENOSPC);
    if (is_full) {
      return fail(ErrorKind::Io, fmt::format("the store's disk is full ({})", what),
                  std::string(kDiskFullHint));
    }
    const ErrorKind kind =
        primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB     ? ErrorKind::Corrupt
        : primary == SQLITE_CONSTRAINT || primary == SQLITE_ERROR ? ErrorKind::Usage
                                                                  : ErrorKind::Io;
    return fail(kind, fmt::format("SQLite: {} (in: {})", what, sql));
  }

  static constexpr int kMaxLogPages = 2000;

  OwnedFd lock_;  // outlives the connection: released last
  std::unique_ptr<sqlite3, CloseConnection> connection_;
  std::unordered_map<std::string, Statement, TextHash, std::equal_to<>> statements_;
  int log_pages_ = 0;
};

Result<void> check_file_system(const Path& folder) {
  struct statfs facts = {};
  if (::statfs(folder.c_str(), &facts) != 0) {
    return std::unexpected(io_error("cannot look at", folder, errno));
  }
  if (const auto name = network_file_system(static_cast<std::int64_t>(facts.f_type))) {
    return fail(ErrorKind::Unavailable,
                fmt::format("the store's folder {} lies on {}, a network file system, where "
                            "SQLite may lose data",
                            folder.string(), *name),
                "put --data on a local disk, or use PostgreSQL: --data postgres://user@host/name");
  }
  return {};
}

// flock() goes with the process, however it ends.
Result<OwnedFd> take_lock(const Path& folder) {
  const Path path = folder / "lock";
  OwnedFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (fd.get() < 0) {
    return std::unexpected(io_error("cannot create", path, errno));
  }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      return std::unexpected(io_error("cannot lock", path, errno));
    }
    std::string holder = read_file(path).value_or("");
    while (holder.ends_with('\n')) {
      holder.pop_back();
    }
    return fail(ErrorKind::Unavailable,
                fmt::format("the store {} is in use by {}", folder.string(),
                            holder.empty() ? "another process" : holder),
                "stop that server, or give this one another --data folder");
  }
  // Only for people; the lock holds without it, also when the disk is full.
  const std::string name = fmt::format("process {}\n", ::getpid());
  if (::ftruncate(fd.get(), 0) != 0 || !write_all(fd.get(), name, path)) {
    return fd;
  }
  return fd;
}

class SqliteBackend final : public Backend {
 public:
  Result<std::unique_ptr<Database>> open(const std::string& address, Access access) const override {
    const Path folder = address;
    const Path path = folder / kFileName;
    OwnedFd lock;
    if (access == Access::Owner) {
      KEDGE_TRY(make_dirs(folder));
      KEDGE_TRY(check_file_system(folder));
      lock = KEDGE_TRY(take_lock(folder));
    } else if (!std::filesystem::exists(path)) {
      return fail(ErrorKind::NotFound, fmt::format("there is no store in {}", address),
                  "a store is the --data folder of a server, with kedge.db in it");
    }
    sqlite3* connection = nullptr;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                      (access == Access::Owner ? SQLITE_OPEN_CREATE : 0);
    const int code = sqlite3_open_v2(path.c_str(), &connection, flags, nullptr);
    auto database = std::make_unique<SqliteDatabase>(connection, std::move(lock));
    if (code != SQLITE_OK) {
      return fail(ErrorKind::Io,
                  fmt::format("cannot open {}: {}", path.string(), sqlite3_errstr(code)));
    }
    sqlite3_busy_timeout(connection, 10'000);
    if (access == Access::Reader) {
      KEDGE_TRY(database->set("query_only=ON"));
      return database;
    }
    // Chunks are some KiB each: larger pages hold them with fewer overflow links.
    for (const char* pragma : {"page_size=8192", "journal_mode=WAL", "synchronous=NORMAL",
                               "foreign_keys=ON", "cache_size=-32000"}) {
      KEDGE_TRY(database->set(pragma));
    }
    database->keep_chores();
    return database;
  }
};

const Backends::Add kAddSqlite({.name = "sqlite",
                                .summary = "a file in the server's folder",
                                .make = []() -> Result<std::unique_ptr<Backend>> {
                                  return std::make_unique<SqliteBackend>();
                                }});

}  // namespace
}  // namespace kedge::store
