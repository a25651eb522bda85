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
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

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

  SqlValue(std::optional<std::int64_t> value)
      : value_(value ? Variant(*value) : Variant(nullptr)) {}

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

  std::uint64_t count(int column) const { return static_cast<std::uint64_t>(integer(column)); }

  std::optional<std::int64_t> optional(int column) const {
    return is_null(column) ? std::nullopt : std::optional(integer(column));
  }
};

using SqlVisitor = std::function<Result<void>(const SqlRow& row)>;

// What a row is made into: `Make` returns it, or a Result of it.
template <typename T>
struct MadeOf {
  using Type = T;
};

template <typename T>
struct MadeOf<Result<T>> {
  using Type = T;
};

template <typename Make>
using Made = typename MadeOf<std::decay_t<std::invoke_result_t<const Make&, const SqlRow&>>>::Type;

// For queries of one column.
inline std::string first_text(const SqlRow& row) {
  return row.string(0);
}

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

  Result<void> run(std::string_view sql, std::span<const SqlValue> values) {
    return execute(sql, values, nullptr);
  }

  Result<void> query(std::string_view sql, std::initializer_list<SqlValue> values,
                     const SqlVisitor& visit) {
    return execute(sql, {values.begin(), values.size()}, &visit);
  }

  // What `make` returns for each row, in order.
  template <typename Make>
  Result<std::vector<Made<Make>>> list(std::string_view sql, std::initializer_list<SqlValue> values,
                                       const Make& make) {
    std::vector<Made<Make>> found;
    KEDGE_TRY(query(sql, values, [&](const SqlRow& row) -> Result<void> {
      if constexpr (std::is_same_v<
                        Made<Make>,
                        std::decay_t<std::invoke_result_t<const Make&, const SqlRow&>>>) {
        found.push_back(make(row));
      } else {
        found.push_back(KEDGE_TRY(make(row)));
      }
      return {};
    }));
    return found;
  }

  // The same for the first row; nothing when there is none.
  template <typename Make>
  Result<std::optional<Made<Make>>> find(std::string_view sql,
                                         std::initializer_list<SqlValue> values, const Make& make) {
    auto found = KEDGE_TRY(list(sql, values, make));
    return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
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

  // --- for copies (internal/table_copy.h)
  // A transaction that sees one moment of the database.
  virtual Result<void> begin_snapshot() { return run("BEGIN"); }

  // A query of very many rows, within a transaction.
  virtual Result<void> scan(std::string_view sql, const SqlVisitor& visit) {
    return query(sql, {}, visit);
  }

  // Rows of this table have come with numbers of their own: the next one that numbers itself comes
  // after them.
  virtual Result<void> count_on(std::string_view /*table*/) { return {}; }

  // All of it, as of now, as SQLite's kedge.db in that folder.
  virtual Result<void> copy_to(const Path& folder);

  // What the database finds wrong with itself.
  virtual Result<std::vector<std::string>> find_damage() { return std::vector<std::string>(); }

 protected:
  virtual Result<void> execute(std::string_view sql, std::span<const SqlValue> values,
                               const SqlVisitor* visit) = 0;
};

// Whether an error came from a disk without room.
bool is_disk_full(const Error& error);

// Owner: the one process that writes. It holds a lock as long as it lives.
enum class Access : std::uint8_t { Owner, Reader };

// `address`: a folder (SQLite's kedge.db and its lock lie in it) or postgres://user@host/name.
// Unavailable, naming the holder, when another process is the owner; and on network file systems,
// where SQLite's locks and write-ahead log do not hold.
Result<std::unique_ptr<Database>> open_database(const std::string& address, Access access);

}  // namespace kedge::store
