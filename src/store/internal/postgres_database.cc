#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <postgresql/libpq-fe.h>
#include <unistd.h>

#include "core/host_name.h"
#include "core/result.h"
#include "store/internal/backends.h"
#include "store/internal/libpq.h"

namespace kedge::store {
namespace {

// "kedge" in ASCII: the number of the advisory lock that the owner of a store holds.
constexpr std::int64_t kOwnerLock = 0x6B65646765;

// Answers come in binary form: numbers big-endian, texts and blobs as they are.
constexpr int kBinary = 1;

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) {
    value = (value << 8U) | static_cast<std::uint8_t>(byte);
  }
  return value;
}

class PostgresRow final : public SqlRow {
 public:
  PostgresRow(const Libpq& pq, const PGresult* result, int row)
      : pq_(pq), result_(result), row_(row) {}

  bool is_null(int column) const override { return pq_.is_null(result_, row_, column) != 0; }

  std::int64_t integer(int column) const override {
    const std::string_view bytes = text(column);
    const std::uint64_t value = big_endian(bytes);
    return bytes.size() == sizeof(std::int32_t) ? static_cast<std::int32_t>(value)
                                                : static_cast<std::int64_t>(value);
  }

  double real(int column) const override {
    return is_null(column) ? std::numeric_limits<double>::quiet_NaN()
                           : std::bit_cast<double>(big_endian(text(column)));
  }

  std::string_view text(int column) const override {
    return {pq_.value(result_, row_, column),
            static_cast<std::size_t>(pq_.length(result_, row_, column))};
  }

  std::string_view blob(int column) const override { return text(column); }

 private:
  const Libpq& pq_;
  const PGresult* result_;
  int row_;
};

// The values of a statement as libpq wants them; texts must end with a zero byte.
class Parameters {
 public:
  explicit Parameters(std::span<const SqlValue> values) {
    texts_.reserve(values.size());
    for (const SqlValue& value : values) {
      std::visit([this](const auto& item) { add(item); }, value.get());
    }
  }

  int count() const { return static_cast<int>(pointers_.size()); }

  const char* const* pointers() const { return pointers_.data(); }

  const int* lengths() const { return lengths_.data(); }

  const int* formats() const { return formats_.data(); }

 private:
  void add(std::nullptr_t) { push(nullptr, 0, 0); }

  void add(std::int64_t value) { add_text(fmt::format("{}", value)); }

  void add(double value) {
    if (value != value) {
      push(nullptr, 0, 0);
    } else {
      add_text(fmt::format("{}", value));
    }
  }

  void add(std::string_view text) { add_text(std::string(text)); }

  void add(Blob blob) {
    push(blob.bytes.data() == nullptr ? "" : blob.bytes.data(), blob.bytes.size(), kBinary);
  }

  void add_text(std::string text) {
    texts_.push_back(std::move(text));
    push(texts_.back().c_str(), 0, 0);
  }

  void push(const char* pointer, std::size_t length, int format) {
    pointers_.push_back(pointer);
    lengths_.push_back(static_cast<int>(length));
    formats_.push_back(format);
  }

  std::vector<std::string> texts_;  // reserved: its strings do not move
  std::vector<const char*> pointers_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
};

class PostgresDatabase final : public Database {
 public:
  PostgresDatabase(const Libpq& pq, PGconn* connection, Access access)
      : pq_(pq), connection_(connection), access_(access) {}

  ~PostgresDatabase() override { pq_.finish(connection_); }

  Result<void> reconnect() override {
    if (pq_.status(connection_) == CONNECTION_OK && run("SELECT 1")) {
      return {};
    }
    statements_.clear();
    pq_.reset(connection_);
    return begin();
  }

  // What a fresh connection needs.
  Result<void> begin() {
    if (pq_.status(connection_) != CONNECTION_OK) {
      return fail(ErrorKind::Unavailable,
                  fmt::format("cannot connect to PostgreSQL: {}", error_text()),
                  "check the address after --data, and that the database is running");
    }
    pq_.set_notice_processor(connection_, [](void*, const char*) {}, nullptr);
    return access_ == Access::Owner ? take_lock() : run("SET default_transaction_read_only = on");
  }

  Result<void> begin_snapshot() override {
    return run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  }

  // libpq holds an answer as a whole: so many rows that they have room.
  Result<void> scan(std::string_view sql, const SqlVisitor& visit) override {
    const std::string cursor = fmt::format("scan{}", next_scan_++);
    KEDGE_TRY(run(fmt::format("DECLARE {} NO SCROLL CURSOR FOR {}", cursor, sql)));
    for (std::size_t found = 1; found > 0;) {
      found = 0;
      KEDGE_TRY(query(fmt::format("FETCH 500 FROM {}", cursor), {}, [&](const SqlRow& row) {
        ++found;
        return visit(row);
      }));
    }
    return run("CLOSE " + cursor);
  }

  Result<void> count_on(std::string_view table) override {
    return query(fmt::format("SELECT setval(pg_get_serial_sequence('{0}', 'id'),"
                             " coalesce(max(id), 0) + 1, false) FROM {0}",
                             table),
                 {}, [](const SqlRow&) -> Result<void> { return {}; });
  }

 protected:
  Result<void> execute(std::string_view sql, std::span<const SqlValue> values,
                       const SqlVisitor* visit) override {
    const ResultHandle result{send_statement_result(sql, values, visit), ClearResult{&pq_}};
    if (result == nullptr) {
      return failure(nullptr, sql);
    }
    const ExecStatusType status = pq_.result_status(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
      return failure(result.get(), sql);
    }
    for (int i = 0; visit != nullptr && i < pq_.row_count(result.get()); ++i) {
      KEDGE_TRY((*visit)(PostgresRow(pq_, result.get(), i)));
    }
    return {};
  }

 private:
  struct ClearResult {
    const Libpq* pq;

    void operator()(PGresult* result) const { pq->clear(result); }
  };

  using ResultHandle = std::unique_ptr<PGresult, ClearResult>;

  PGresult* send_statement_result(std::string_view sql, std::span<const SqlValue> values,
                                  const SqlVisitor* visit) {
    if (values.empty() && visit == nullptr) {
      return pq_.exec(connection_, substitute(sql).c_str());
    }
    auto found = statements_.find(sql);
    if (found == statements_.end()) {
      const std::string name = fmt::format("s{}", next_statement_++);
      PGresult* prepared =
          pq_.prepare(connection_, name.c_str(), substitute(sql).c_str(), 0, nullptr);
      if (prepared == nullptr || pq_.result_status(prepared) != PGRES_COMMAND_OK) {
        return prepared;
      }
      pq_.clear(prepared);
      found = statements_.emplace(std::string(sql), name).first;
    }
    const Parameters parameters(values);
    return pq_.exec_prepared(connection_, found->second.c_str(), parameters.count(),
                             parameters.pointers(), parameters.lengths(), parameters.formats(),
                             kBinary);
  }

  static std::string substitute(std::string_view sql) {
    return substitute_types(sql, "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY", "BYTEA");
  }

  // An owner that was killed a moment ago holds the lock until its backend has noticed.
  Result<void> take_lock() {
    KEDGE_TRY(run("SET lock_timeout = '2s'"));
    const auto taken = query("SELECT pg_advisory_lock($1)", {kOwnerLock},
                             [](const SqlRow&) -> Result<void> { return {}; });
    KEDGE_TRY(run("SET lock_timeout = 0"));
    if (taken) {
      return {};
    }
    if (taken.error().kind == ErrorKind::Unavailable) {
      return taken;
    }
    std::string holder = "another process";
    KEDGE_TRY(
        query("SELECT a.application_name, coalesce(host(a.client_addr), 'the same machine') "
              "FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid "
              "WHERE l.locktype = 'advisory' AND l.granted "
              "AND ((l.classid::bigint << 32) | l.objid::bigint) = $1 "
              "AND a.datname = current_database()",
              {kOwnerLock}, [&](const SqlRow& row) -> Result<void> {
                holder = fmt::format("{} from {}", row.text(0), row.text(1));
                return {};
              }));
    return fail(ErrorKind::Unavailable, fmt::format("the store is in use by {}", holder),
                "stop that server, or give this one another database");
  }

  std::string error_text() const {
    std::string text = pq_.error_message(connection_);
    while (text.ends_with('\n')) {
      text.pop_back();
    }
    return text;
  }

  std::unexpected<Error> failure(const PGresult* result, std::string_view sql) {
    const std::string what = error_text();
    const char* state =
        result == nullptr ? nullptr : pq_.result_error_field(result, PG_DIAG_SQLSTATE);
    const std::string_view code = state == nullptr ? "" : state;
    // Errors without a code are libpq's own: there is no server at the other end.
    if (pq_.status(connection_) != CONNECTION_OK || code.empty()) {
      return fail(ErrorKind::Unavailable, fmt::format("PostgreSQL is away: {}", what),
                  "it is tried again with the next change");
    }
    if (code == "53100") {
      return fail(ErrorKind::Io, fmt::format("the store's disk is full ({})", what),
                  std::string(kDiskFullHint));
    }
    // Classes of SQLSTATE: 53 and 58 are the machine's trouble, 57 the operator's.
    const ErrorKind kind = code.starts_with("53") || code.starts_with("58") ? ErrorKind::Io
                           : code.starts_with("57")                         ? ErrorKind::Unavailable
                                                                            : ErrorKind::Usage;
    return fail(kind, fmt::format("PostgreSQL: {} (in: {})", what, sql));
  }

  const Libpq& pq_;
  PGconn* connection_;
  Access access_;
  std::unordered_map<std::string, std::string, TextHash, std::equal_to<>> statements_;
  std::uint64_t next_statement_ = 0;
  std::uint64_t next_scan_ = 0;
};

class PostgresBackend final : public Backend {
 public:
  Result<std::unique_ptr<Database>> open(const std::string& address, Access access) const override {
    const Libpq& pq = *KEDGE_TRY(open_libpq());
    const std::string name = fmt::format("kedge process {} on {}", ::getpid(), host_name());
    const std::array<const char*, 5> keys = {"dbname", "application_name", "client_encoding",
                                             "connect_timeout", nullptr};
    const std::array<const char*, 5> values = {address.c_str(), name.c_str(), "UTF8", "10",
                                               nullptr};
    auto database = std::make_unique<PostgresDatabase>(
        pq, pq.connect(keys.data(), values.data(), /*expand_dbname=*/1), access);
    KEDGE_TRY(database->begin());
    return database;
  }

  // postgres://user:password@host/name?password=word
  std::string render(const std::string& address) const override {
    std::string text = address.substr(0, address.find('?'));
    const std::size_t begin = text.find("://") + 3;
    const std::size_t at = text.rfind('@', text.find('/', begin));
    const std::size_t colon = text.find(':', begin);
    if (at != std::string::npos && colon < at) {
      text.erase(colon, at - colon);
    }
    return text;
  }
};

Result<std::unique_ptr<Backend>> make_postgres() {
  return std::make_unique<PostgresBackend>();
}

constexpr std::string_view kSummary = "a PostgreSQL server, for many users";
const Backends::Add kAddPostgres({"postgres", kSummary, make_postgres});
const Backends::Add kAddPostgresql({"postgresql", kSummary, make_postgres});

}  // namespace
}  // namespace kedge::store
