#include "server/history_text.h"

#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "exchange/table.h"
#include "server/api.h"

namespace kedge::server {
namespace {

constexpr std::size_t kPieceBytes = 256U << 10U;

// RFC 4180: quoted where a comma, a quote or a line end would be misread.
std::string quote(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    return text;
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c;
    quoted += c == '"' ? "\"" : "";
  }
  return quoted + "\"";
}

class HistoryWriter {
 public:
  HistoryWriter(const store::Store& store, HistoryRequest request)
      : store_(store), request_(std::move(request)) {}

  Result<bool> write(std::string& chunk) {
    chunk_ = &chunk;
    if (!has_begun_) {
      has_begun_ = true;
      KEDGE_TRY(begin(chunk));
    }
    bool has_more = true;
    while (has_more && chunk.size() < kPieceBytes) {
      has_more = KEDGE_TRY(write_next(chunk));
    }
    return has_more;
  }

 private:
  // One point, or the opening of the next curve; false at the end.
  Result<bool> write_next(std::string& chunk) {
    if (place_ < curve_.points.size()) {
      KEDGE_TRY(add(chunk, curve_.points[place_++], false));
    } else if (replaced_place_ < curve_.replaced.size()) {
      KEDGE_TRY(add(chunk, curve_.replaced[replaced_place_++], true));
    } else if (next_key_ < request_.keys.size()) {
      KEDGE_TRY(open(request_.keys[next_key_++]));
    } else {
      KEDGE_TRY(end(chunk));
      return false;
    }
    return true;
  }

  Result<void> end(std::string& chunk) {
    chunk += request_.format == HistoryFormat::Json ? "]}" : "";
    return table_ ? table_->finish() : Result<void>();
  }

  Result<void> begin(std::string& chunk) {
    if (request_.format == HistoryFormat::Json) {
      chunk += "{\"points\":[";
    } else if (request_.format == HistoryFormat::Csv) {
      chunk += request_.with_replaced ? "key,step,value,time_us,attempt,replaced\n"
                                      : "key,step,value,time_us,attempt\n";
    } else if (request_.format == HistoryFormat::Parquet) {
      using exchange::ColumnType;
      std::vector<exchange::Column> columns = {{"key", ColumnType::Text},
                                               {"step", ColumnType::Integer},
                                               {"value", ColumnType::Number},
                                               {"time", ColumnType::TimeUs},
                                               {"attempt", ColumnType::Integer}};
      if (request_.with_replaced) {
        columns.push_back({"replaced", ColumnType::Integer});
      }
      table_ = KEDGE_TRY(exchange::make_table_writer(exchange::TableFormat::Parquet, columns,
                                                     [this](std::string_view bytes) {
                                                       *chunk_ += bytes;
                                                       return Result<void>();
                                                     }));
    }
    return {};
  }

  Result<void> open(const std::string& key) {
    curve_ = KEDGE_TRY(store_.read_history(request_.run, key, request_.kind));
    if (!request_.with_replaced) {
      curve_.replaced.clear();
    }
    place_ = 0;
    replaced_place_ = 0;
    key_.clear();
    if (request_.format == HistoryFormat::Csv) {
      key_ = quote(key);
    } else if (table_) {
      key_ = key;
    } else {
      append_text(key_, key);
    }
    return {};
  }

  Result<void> add_row(const track::Point& point, bool is_replaced) {
    const std::array<exchange::Cell, 6> cells = {std::string_view(key_),
                                                 point.step,
                                                 point.value,
                                                 point.time_us,
                                                 static_cast<std::int64_t>(point.attempt),
                                                 static_cast<std::int64_t>(is_replaced)};
    return table_->add_row(std::span(cells).first(request_.with_replaced ? 6 : 5));
  }

  Result<void> add(std::string& chunk, const track::Point& point, bool is_replaced) {
    if (table_) {
      return add_row(point, is_replaced);
    }
    auto out = std::back_inserter(chunk);
    if (request_.format == HistoryFormat::Csv) {
      fmt::format_to(out, "{},{},{},{},{}", key_, point.step, point.value, point.time_us,
                     point.attempt);
      chunk += !request_.with_replaced ? "\n" : is_replaced ? ",1\n" : ",0\n";
      return {};
    }
    if (request_.format == HistoryFormat::Json && !std::exchange(is_first_, false)) {
      chunk += ',';
    }
    fmt::format_to(out, "{{\"key\":{},\"step\":{},\"value\":", key_, point.step);
    append_number(chunk, point.value);
    fmt::format_to(out, ",\"time_us\":{},\"attempt\":{}{}}}", point.time_us, point.attempt,
                   is_replaced ? ",\"replaced\":true" : "");
    chunk += request_.format == HistoryFormat::JsonLines ? "\n" : "";
    return {};
  }

  const store::Store& store_;
  HistoryRequest request_;
  std::unique_ptr<exchange::TableWriter> table_;  // of Parquet
  std::string* chunk_ = nullptr;                  // where its bytes go
  track::Curve curve_;
  std::string key_;
  std::size_t next_key_ = 0;
  std::size_t place_ = 0;
  std::size_t replaced_place_ = 0;
  bool has_begun_ = false;
  bool is_first_ = true;
};

}  // namespace

std::optional<HistoryFormat> parse_history_format(std::string_view name) {
  if (name == "json") {
    return HistoryFormat::Json;
  }
  if (name == "jsonl") {
    return HistoryFormat::JsonLines;
  }
  if (name == "parquet") {
    return HistoryFormat::Parquet;
  }
  return name == "csv" ? std::optional(HistoryFormat::Csv) : std::nullopt;
}

std::string_view content_type_of(HistoryFormat format) {
  switch (format) {
    case HistoryFormat::Json:
      return "application/json";
    case HistoryFormat::JsonLines:
      return "application/x-ndjson";
    case HistoryFormat::Parquet:
      return "application/vnd.apache.parquet";
    case HistoryFormat::Csv:
      break;
  }
  return "text/csv; charset=utf-8";
}

http::BodyProducer make_history_producer(const store::Store& store, HistoryRequest request) {
  auto writer = std::make_shared<HistoryWriter>(store, std::move(request));
  return [writer](std::string& chunk) { return writer->write(chunk); };
}

}  // namespace kedge::server
