#include "exchange/table.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "exchange/internal/parquet_writer.h"

namespace kedge::exchange {
namespace {

// Sinks may be sockets: rows are gathered.
constexpr std::size_t kGatherRows = 1U << 16U;

// RFC 4180: quoted where a comma, a quote or a line end would be misread, or a text could be taken
// for a missing one.
void append_quoted(std::string& out, std::string_view text) {
  if (!text.empty() && text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char byte : text) {
    out += byte;
    if (byte == '"') {
      out += '"';
    }
  }
  out += '"';
}

class CsvWriter : public TableWriter {
 public:
  CsvWriter(const std::vector<Column>& columns, ByteSink sink) : sink_(std::move(sink)) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      waiting_ += i > 0 ? "," : "";
      append_quoted(waiting_, columns[i].name);
    }
    waiting_ += '\n';
  }

  Result<void> add_row(std::span<const Cell> cells) override {
    bool is_first = true;
    for (const Cell& cell : cells) {
      if (!is_first) {
        waiting_ += ',';
      }
      is_first = false;
      append(cell);
    }
    waiting_ += '\n';
    return waiting_.size() < kGatherRows ? Result<void>() : finish();
  }

  Result<void> finish() override {
    const std::string bytes = std::exchange(waiting_, {});
    return bytes.empty() ? Result<void>() : sink_(bytes);
  }

 private:
  void append(const Cell& cell) {
    if (const auto* text = std::get_if<std::string_view>(&cell)) {
      append_quoted(waiting_, *text);
    } else if (const auto* number = std::get_if<double>(&cell)) {
      fmt::format_to(std::back_inserter(waiting_), "{}", *number);
    } else if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
      fmt::format_to(std::back_inserter(waiting_), "{}", *integer);
    }
  }

  ByteSink sink_;
  std::string waiting_;
};

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class JsonlWriter : public TableWriter {
 public:
  JsonlWriter(const std::vector<Column>& columns, ByteSink sink) : sink_(std::move(sink)) {
    for (const Column& column : columns) {
      names_.push_back(json_text(column.name) + ":");
    }
  }

  Result<void> add_row(std::span<const Cell> cells) override {
    char separator = '{';
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (std::holds_alternative<std::monostate>(cells[i])) {
        continue;
      }
      waiting_ += separator;
      waiting_ += names_[i];
      separator = ',';
      append(cells[i]);
    }
    waiting_ += separator == '{' ? "{}\n" : "}\n";
    return waiting_.size() < kGatherRows ? Result<void>() : finish();
  }

  Result<void> finish() override {
    const std::string bytes = std::exchange(waiting_, {});
    return bytes.empty() ? Result<void>() : sink_(bytes);
  }

 private:
  void append(const Cell& cell) {
    if (const auto* text = std::get_if<std::string_view>(&cell)) {
      waiting_ += json_text(*text);
    } else if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
      fmt::format_to(std::back_inserter(waiting_), "{}", *integer);
    } else {
      append(std::get<double>(cell));
    }
  }

  void append(double number) {
    if (std::isnan(number)) {
      waiting_ += "\"NaN\"";
    } else if (std::isinf(number)) {
      waiting_ += number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    } else {
      fmt::format_to(std::back_inserter(waiting_), "{}", number);
    }
  }

  ByteSink sink_;
  std::vector<std::string> names_;
  std::string waiting_;
};

}  // namespace

std::optional<TableFormat> parse_table_format(std::string_view name) {
  if (name == "csv") {
    return TableFormat::Csv;
  }
  if (name == "jsonl") {
    return TableFormat::Jsonl;
  }
  if (name == "parquet") {
    return TableFormat::Parquet;
  }
  return std::nullopt;
}

Result<std::unique_ptr<TableWriter>> make_table_writer(TableFormat format,
                                                       std::vector<Column> columns, ByteSink sink,
                                                       const TableOptions& options) {
  switch (format) {
    case TableFormat::Csv:
      return std::make_unique<CsvWriter>(columns, std::move(sink));
    case TableFormat::Jsonl:
      return std::make_unique<JsonlWriter>(columns, std::move(sink));
    case TableFormat::Parquet:
      break;
  }
  return ParquetWriter::start(std::move(columns), std::move(sink), options);
}

Result<void> write_table(const Path& path, TableFormat format, const std::vector<Column>& columns,
                         const std::function<Result<void>(TableWriter&)>& fill) {
  return replace_file(path, [&](const Path& beside) {
    return write_synced(beside, path, [&](int fd) -> Result<void> {
      const auto sink = [&](std::string_view bytes) { return write_all(fd, bytes, path); };
      const auto writer = KEDGE_TRY(make_table_writer(format, columns, sink));
      KEDGE_TRY(fill(*writer));
      return writer->finish();
    });
  });
}

}  // namespace kedge::exchange
