#include "exchange/internal/parquet_writer.h"

#include <algorithm>

#include <zstd.h>

#include "core/utf8.h"
#include "exchange/internal/fixed_number.h"
#include "exchange/internal/thrift_writer.h"

namespace kedge::exchange {
namespace {

constexpr std::string_view kMagic = "PAR1";
constexpr std::size_t kGroupBytes = 64U << 20U;  // a page's size is an i32
constexpr int kZstdLevel = 3;

// The numbers of parquet.thrift.
constexpr std::int32_t kPhysicalInt64 = 2;
constexpr std::int32_t kPhysicalDouble = 5;
constexpr std::int32_t kPhysicalByteArray = 6;
constexpr std::int32_t kOptional = 1;
constexpr std::int32_t kPlain = 0;
constexpr std::int32_t kRle = 3;
constexpr std::int32_t kUncompressed = 0;
constexpr std::int32_t kZstd = 6;
constexpr std::int32_t kUtf8 = 0;
constexpr std::int32_t kTimestampMicros = 10;

std::int32_t physical_type(ColumnType type) {
  switch (type) {
    case ColumnType::Number:
      return kPhysicalDouble;
    case ColumnType::Text:
      return kPhysicalByteArray;
    default:
      return kPhysicalInt64;
  }
}

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80U; value >>= 7U) {
    out += static_cast<char>(value | 0x80U);
  }
  out += static_cast<char>(value);
}

// Definition levels of one bit, RLE/bit-packed hybrid: one run where all are alike, else all
// packed.
std::string levels_of(const std::vector<bool>& is_there) {
  std::string levels;
  if (std::ranges::count(is_there, is_there[0]) == static_cast<std::ptrdiff_t>(is_there.size())) {
    append_varint(levels, is_there.size() << 1U);
    levels += static_cast<char>(is_there[0]);
  } else {
    const std::size_t groups = (is_there.size() + 7) / 8;
    append_varint(levels, groups << 1U | 1U);
    std::string packed(groups, '\0');
    for (std::size_t i = 0; i < is_there.size(); ++i) {
      packed[i / 8] = static_cast<char>(packed[i / 8] | (is_there[i] ? 1 << (i % 8) : 0));
    }
    levels += packed;
  }
  return levels;
}

Result<std::string> compress(const std::string& bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), kZstdLevel);
  if (ZSTD_isError(size) != 0) {
    return fail(ErrorKind::Io, std::string("zstd: ") + ZSTD_getErrorName(size));
  }
  packed.resize(size);
  return packed;
}

void write_schema(ThriftWriter& thrift, const std::vector<Column>& columns) {
  thrift.begin_list(2, ThriftType::Struct, columns.size() + 1);
  thrift.begin_element();
  thrift.text(4, "schema");
  thrift.integer(5, static_cast<std::int32_t>(columns.size()));
  thrift.end_struct();
  for (const Column& column : columns) {
    thrift.begin_element();
    thrift.integer(1, physical_type(column.type));
    thrift.integer(3, kOptional);
    thrift.text(4, as_utf8(column.name));
    if (column.type == ColumnType::Text) {
      thrift.integer(6, kUtf8);
      thrift.begin_struct(10);  // LogicalType
      thrift.begin_struct(1);   // STRING
      thrift.end_struct();
      thrift.end_struct();
    } else if (column.type == ColumnType::TimeUs) {
      thrift.integer(6, kTimestampMicros);
      thrift.begin_struct(10);
      thrift.begin_struct(8);   // TIMESTAMP
      thrift.boolean(1, true);  // adjusted to UTC
      thrift.begin_struct(2);   // TimeUnit
      thrift.begin_struct(2);   // MICROS
      thrift.end_struct();
      thrift.end_struct();
      thrift.end_struct();
      thrift.end_struct();
    }
    thrift.end_struct();
  }
}

}  // namespace

ParquetWriter::ParquetWriter(std::vector<Column> columns, ByteSink sink,
                             const TableOptions& options)
    : columns_(std::move(columns)),
      sink_(std::move(sink)),
      options_(options),
      buffers_(columns_.size()) {}

Result<std::unique_ptr<TableWriter>> ParquetWriter::start(std::vector<Column> columns,
                                                          ByteSink sink,
                                                          const TableOptions& options) {
  std::unique_ptr<ParquetWriter> writer(
      new ParquetWriter(std::move(columns), std::move(sink), options));
  KEDGE_TRY(writer->send(kMagic));
  return writer;
}

Result<void> ParquetWriter::send(std::string_view bytes) {
  written_ += static_cast<std::int64_t>(bytes.size());
  return sink_(bytes);
}

Result<void> ParquetWriter::add_row(std::span<const Cell> cells) {
  KEDGE_CHECK(cells.size() == columns_.size(), "a row has a cell for each column");
  for (std::size_t i = 0; i < cells.size(); ++i) {
    Buffer& buffer = buffers_[i];
    const std::size_t before = buffer.values.size();
    buffer.is_there.push_back(!std::holds_alternative<std::monostate>(cells[i]));
    if (const auto* text = std::get_if<std::string_view>(&cells[i])) {
      KEDGE_CHECK(columns_[i].type == ColumnType::Text, "a cell has its column's type");
      const std::string clean = as_utf8(*text);
      append_fixed(buffer.values, static_cast<std::uint32_t>(clean.size()));
      buffer.values += clean;
    } else if (const auto* number = std::get_if<double>(&cells[i])) {
      KEDGE_CHECK(columns_[i].type == ColumnType::Number, "a cell has its column's type");
      append_fixed(buffer.values, *number);
    } else if (const auto* integer = std::get_if<std::int64_t>(&cells[i])) {
      KEDGE_CHECK(physical_type(columns_[i].type) == kPhysicalInt64,
                  "a cell has its column's type");
      append_fixed(buffer.values, *integer);
    }
    buffered_bytes_ += buffer.values.size() - before;
  }
  ++buffered_rows_;
  if (buffered_rows_ >= options_.group_rows || buffered_bytes_ >= kGroupBytes) {
    return write_group();
  }
  return {};
}

Result<ParquetWriter::ChunkFacts> ParquetWriter::write_page(const Buffer& buffer) {
  const std::string levels = levels_of(buffer.is_there);
  std::string page;
  append_fixed(page, static_cast<std::uint32_t>(levels.size()));
  page += levels + buffer.values;
  const std::string packed = options_.is_compressed ? KEDGE_TRY(compress(page)) : page;

  ThriftWriter header;
  header.integer(1, 0);  // DATA_PAGE
  header.integer(2, static_cast<std::int32_t>(page.size()));
  header.integer(3, static_cast<std::int32_t>(packed.size()));
  header.begin_struct(5);
  header.integer(1, static_cast<std::int32_t>(buffer.is_there.size()));
  header.integer(2, kPlain);
  header.integer(3, kRle);
  header.integer(4, kRle);
  header.end_struct();
  const std::string head = header.finish();

  const auto head_size = static_cast<std::int64_t>(head.size());
  const ChunkFacts facts{.offset = written_,
                         .size = head_size + static_cast<std::int64_t>(packed.size()),
                         .raw_size = head_size + static_cast<std::int64_t>(page.size()),
                         .count = static_cast<std::int64_t>(buffer.is_there.size())};
  KEDGE_TRY(send(head));
  KEDGE_TRY(send(packed));
  return facts;
}

Result<void> ParquetWriter::write_group() {
  GroupFacts group{.chunks = {}, .rows = static_cast<std::int64_t>(buffered_rows_)};
  for (Buffer& buffer : buffers_) {
    group.chunks.push_back(KEDGE_TRY(write_page(buffer)));
    buffer.is_there.clear();
    buffer.values.clear();
  }
  groups_.push_back(std::move(group));
  buffered_rows_ = 0;
  buffered_bytes_ = 0;
  return {};
}

std::string ParquetWriter::footer() const {
  std::int64_t rows = 0;
  for (const GroupFacts& group : groups_) {
    rows += group.rows;
  }
  ThriftWriter thrift;
  thrift.integer(1, 2);  // version
  write_schema(thrift, columns_);
  thrift.long_integer(3, rows);
  thrift.begin_list(4, ThriftType::Struct, groups_.size());
  for (const GroupFacts& group : groups_) {
    thrift.begin_element();
    thrift.begin_list(1, ThriftType::Struct, columns_.size());
    std::int64_t raw_size = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const ChunkFacts& chunk = group.chunks[i];
      raw_size += chunk.raw_size;
      thrift.begin_element();
      thrift.long_integer(2, chunk.offset);
      thrift.begin_struct(3);
      thrift.integer(1, physical_type(columns_[i].type));
      thrift.begin_list(2, ThriftType::I32, 2);
      thrift.element(kPlain);
      thrift.element(kRle);
      thrift.begin_list(3, ThriftType::Binary, 1);
      thrift.element(as_utf8(columns_[i].name));
      thrift.integer(4, options_.is_compressed ? kZstd : kUncompressed);
      thrift.long_integer(5, chunk.count);
      thrift.long_integer(6, chunk.raw_size);
      thrift.long_integer(7, chunk.size);
      thrift.long_integer(9, chunk.offset);
      thrift.end_struct();
      thrift.end_struct();
    }
    thrift.long_integer(2, raw_size);
    thrift.long_integer(3, group.rows);
    thrift.end_struct();
  }
  thrift.text(6, "kedge");
  return thrift.finish();
}

Result<void> ParquetWriter::finish() {
  if (buffered_rows_ > 0) {
    KEDGE_TRY(write_group());
  }
  std::string tail = footer();
  append_fixed(tail, static_cast<std::uint32_t>(tail.size()));
  tail += kMagic;
  return send(tail);
}

}  // namespace kedge::exchange
