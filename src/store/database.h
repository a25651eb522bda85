// A connection to the SQL database under the store: SQLite or PostgreSQL, spoken to with one SQL
// text. Placeholders are $1, $2, ...; where the two differ the text says {id} (an integer primary
// key that numbers itself) or {blob}. A connection is for one thread at a time.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "core/file.h"
#include "core/result.h"

namespace kedge::store {

struct Blob {
  std::string_view bytes;
};

// What a placeholder stands for. Texts and blobs are borrowed until the call returns. NaN is NULL
// in the database, because SQLite knows no other.
class SqlValue {
 public:
  using Variant = std::variant<std::nullptr_t, std::int64_t, double, std::string_view, Blob>;

  // Implicit, so that a list of values reads as what it is.
  // NOLINTBEGIN(google-explicit-constructor)
  SqlValue(std::nullptr_t) : value_(nullptr) {}

  template <std::integral T>
  SqlValue(T value) : value_(static_cast<std::int64_t>(value)) {}

  SqlValue(double value) : value_(value) {}

  SqlValue(std::string_view text) : value_(text) {}

  SqlValue(const std::string& text) : value_(std::string_view(text)) {}

  SqlValue(const char* text) : value_(std::string_view(text)) {}

  SqlValue(Blob blob) : value_(blob) {}

  // NOLINTEND(google-explicit-constructor)

  const Variant& get() const { return value_; }

 private:
  Variant value_;
};

// One row of an answer, valid while it is visited. Columns count from 0.
class SqlRow {
 public:
  SqlRow() = default;
  SqlRow(const SqlRow&) = delete;
  SqlRow& operator=(const SqlRow&) = delete;
  virtual ~SqlRow() = default;

  virtual bool is_null(int column) const = 0;
  virtual std::int64_t integer(int column) const = 0;   // NULL: 0
  virtual double real(int column) const = 0;            // NULL: NaN
  virtual std::string_view text(int column) const = 0;  // NULL: empty
  virtual std::string_view blob(int column) const = 0;  // NULL: empty

  std::string string(int column) const { return std::string(text(column)); }
};

using SqlVisitor = std::function<Result<void>(const SqlRow& row)>;

class Database {
 public:
  Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  virtual ~Database() = default;

  // Errors: Io when the disk is full (is_disk_full) or refuses, Unavailable when the server is
  // away, Usage for SQL that is refused. An error of the visitor ends the query and is returned.
  Result<void> run(std::string_view sql, std::initializer_list<SqlValue> values = {}) {
    return execute(sql, {values.begin(), values.size()}, nullptr);
  }

  Result<void> query(std::string_view sql, std::initializer_list<SqlValue> values,
                     const SqlVisitor& visit) {
    return execute(sql, {values.begin(), values.size()}, &visit);
  }

  // The first column of the first row, or `fallback` when there is none.
  Result<std::int64_t> query_integer(std::string_view sql, std::initializer_list<SqlValue> values,
                                     std::int64_t fallback = 0);

  // Opens a lost connection again. Nothing of an open transaction is left.
  virtual Result<void> reconnect() = 0;

  // Whether a commit is a matter of this machine's memory, and not of a network.
  virtual bool is_near() const { return false; }

  // Work that a database leaves for when nobody waits for an answer, and doing it.
  virtual bool has_chores() const { return false; }

  virtual Result<void> do_chores() { return {}; }

 protected:
  virtual Result<void> execute(std::string_view sql, std::span<const SqlValue> values,
                               const SqlVisitor* visit) = 0;
};

// Whether an error came from a disk without room.
bool is_disk_full(const Error& error);

// Where a store lies: a folder (SQLite) or postgres://user@host/name.
struct DatabaseAddress {
  Path folder = {};           // of SQLite's kedge.db and its lock
  std::string postgres = {};  // the whole address; empty: SQLite

  bool is_postgres() const { return !postgres.empty(); }
};

DatabaseAddress parse_address(const std::string& address);

// As people may see it: without the password.
std::string render_address(const DatabaseAddress& address);

// Owner: the one process that writes. It holds a lock as long as it lives.
enum class Access : std::uint8_t { Owner, Reader };

// Unavailable, naming the holder, when another process is the owner; and on network file systems,
// where SQLite's locks and write-ahead log do not hold.
Result<std::unique_ptr<Database>> open_database(const DatabaseAddress& address, Access access);

}  // namespace kedge::store
