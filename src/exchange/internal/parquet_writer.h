// A flat Parquet file (format version 2.6): optional columns of INT64, DOUBLE and BYTE_ARRAY, PLAIN
// encoding, one page a column and row group, zstd or nothing. No dictionaries, no nesting.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exchange/table.h"

namespace kedge::exchange {

class ParquetWriter : public TableWriter {
 public:
  static Result<std::unique_ptr<TableWriter>> start(std::vector<Column> columns, ByteSink sink,
                                                    const TableOptions& options);

  Result<void> add_row(std::span<const Cell> cells) override;
  Result<void> finish() override;

 private:
  struct Buffer {
    std::vector<bool> is_there;
    std::string values;  // PLAIN, of those that are there
  };

  struct ChunkFacts {
    std::int64_t offset = 0;
    std::int64_t size = 0;      // with the page's header
    std::int64_t raw_size = 0;  // the same before compression
    std::int64_t count = 0;
  };

  struct GroupFacts {
    std::vector<ChunkFacts> chunks;
    std::int64_t rows = 0;
  };

  ParquetWriter(std::vector<Column> columns, ByteSink sink, const TableOptions& options);

  Result<void> send(std::string_view bytes);
  Result<void> write_group();
  Result<ChunkFacts> write_page(const Buffer& buffer);
  std::string footer() const;

  std::vector<Column> columns_;
  ByteSink sink_;
  TableOptions options_;
  std::vector<Buffer> buffers_;
  std::size_t buffered_rows_ = 0;
  std::size_t buffered_bytes_ = 0;
  std::int64_t written_ = 0;
  std::vector<GroupFacts> groups_;
};

}  // namespace kedge::exchange
