// Tables for other programs: CSV, JSON lines and Parquet, written row by row to wherever the caller
// wants the bytes. A value may be missing in any column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::exchange {

enum class ColumnType : std::uint8_t {
  Integer,
  Number,
  Text,    // UTF-8
  TimeUs,  // Unix time in microseconds; in Parquet a timestamp, else an integer
};

struct Column {
  std::string name;
  ColumnType type = ColumnType::Text;
};

// monostate: missing. Integers and times are int64. A text must live until the row is added.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string_view>;

using ByteSink = std::function<Result<void>(std::string_view bytes)>;

class TableWriter {
 public:
  virtual ~TableWriter() = default;

  // One cell a column, of the column's type or missing.
  virtual Result<void> add_row(std::span<const Cell> cells) = 0;

  // The last bytes; nothing may be added after it.
  virtual Result<void> finish() = 0;
};

enum class TableFormat : std::uint8_t { Csv, Jsonl, Parquet };

std::optional<TableFormat> parse_table_format(std::string_view name);  // "csv", "jsonl", "parquet"

struct TableOptions {
  // Parquet only: rows that are held in memory and compressed together.
  std::size_t group_rows = 131072;
  bool is_compressed = true;
};

// NaN and infinities are nan and inf in CSV, the texts "NaN", "Infinity" and "-Infinity" in JSON.
Result<std::unique_ptr<TableWriter>> make_table_writer(TableFormat format,
                                                       std::vector<Column> columns, ByteSink sink,
                                                       const TableOptions& options = {});

// Lets `fill` write a table into a file, which readers see when it is complete.
Result<void> write_table(const Path& path, TableFormat format, const std::vector<Column>& columns,
                         const std::function<Result<void>(TableWriter&)>& fill);

}  // namespace kedge::exchange
