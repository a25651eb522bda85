#include "store/internal/table_copy.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/internal/schema.h"

namespace kedge::store {
namespace {

struct TableFacts {
  std::string name;
  std::vector<std::string> columns;
  std::vector<std::string> types;  // as the schema declares them
  bool numbers_itself = false;
};

// In the order in which they were made, so that a row comes after those it refers to.
Result<std::vector<TableFacts>> list_tables(Database& sqlite) {
  auto tables = KEDGE_TRY(sqlite.list(
      "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name <> 'schema_version'"
      " ORDER BY rowid",
      {}, [](const SqlRow& row) {
        return TableFacts{.name = row.string(0),
                          .columns = {},
                          .types = {},
                          .numbers_itself = row.text(1).contains("(id INTEGER PRIMARY KEY")};
      }));
  for (TableFacts& table : tables) {
    KEDGE_TRY(sqlite.query("SELECT name, type FROM pragma_table_info($1) ORDER BY cid",
                           {table.name}, [&](const SqlRow& row) -> Result<void> {
                             table.columns.push_back(row.string(0));
                             table.types.push_back(row.string(1));
                             return {};
                           }));
  }
  return tables;
}

SqlValue value_of(const SqlRow& row, int column, std::string_view type) {
  if (row.is_null(column)) {
    return nullptr;
  }
  if (type == "TEXT") {
    return row.text(column);
  }
  if (type == "BLOB") {
    return Blob{row.blob(column)};
  }
  return type == "DOUBLE PRECISION" ? SqlValue(row.real(column)) : SqlValue(row.integer(column));
}

Result<void> copy_table(Database& from, Database& to, const TableFacts& table) {
  std::vector<std::string> places;
  for (std::size_t i = 1; i <= table.columns.size(); ++i) {
    places.push_back(fmt::format("${}", i));
  }
  const std::string names = fmt::format("{}", fmt::join(table.columns, ", "));
  const std::string insert =
      fmt::format("INSERT INTO {} ({}) VALUES ({})", table.name, names, fmt::join(places, ", "));
  std::vector<SqlValue> values;
  KEDGE_TRY(from.scan(fmt::format("SELECT {} FROM {}", names, table.name),
                      [&](const SqlRow& row) -> Result<void> {
                        values.clear();
                        for (std::size_t i = 0; i < table.types.size(); ++i) {
                          values.push_back(value_of(row, static_cast<int>(i), table.types[i]));
                        }
                        return to.run(insert, values);
                      }));
  return table.numbers_itself ? to.count_on(table.name) : Result<void>();
}

Result<void> check_versions(Database& from, Database& to) {
  const std::string_view sql = "SELECT version FROM schema_version";
  const std::int64_t version = KEDGE_TRY(from.query_integer(sql, {}));
  const std::int64_t wanted = KEDGE_TRY(to.query_integer(sql, {}));
  return version == wanted
             ? Result<void>()
             : fail(ErrorKind::Usage,
                    fmt::format("the store has version {} of the schema, this kedge version {}",
                                version, wanted),
                    "start a server of this kedge on it once, which brings it up to date");
}

Result<void> copy_all(Database& from, Database& to, const std::vector<TableFacts>& tables) {
  for (const TableFacts& table : tables) {
    if (KEDGE_TRY(to.query_integer(fmt::format("SELECT COUNT(*) FROM {}", table.name), {})) > 0) {
      return fail(ErrorKind::Usage, "the database holds a store already", "name one that does not");
    }
    KEDGE_TRY(copy_table(from, to, table));
  }
  return to.run("COMMIT");
}

}  // namespace

Result<void> copy_tables(Database& from, Database& to, Database& sqlite) {
  KEDGE_TRY(check_versions(from, to));
  const auto tables = KEDGE_TRY(list_tables(sqlite));
  KEDGE_TRY(from.begin_snapshot());
  KEDGE_TRY(to.run("BEGIN"));
  const Result<void> done = copy_all(from, to, tables);
  if (!done) {
    (void)to.run("ROLLBACK");  // the first error is the one to tell
  }
  (void)from.run("ROLLBACK");  // it was only read
  return done;
}

}  // namespace kedge::store
