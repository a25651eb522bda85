#include "exchange/table.h"

#include <array>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "core/scratch_folder.h"

namespace kedge::exchange {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

const std::vector<Column> kColumns = {{"na,me", ColumnType::Text},
                                      {"step", ColumnType::Integer},
                                      {"value", ColumnType::Number},
                                      {"when", ColumnType::TimeUs}};

std::string table(TableFormat format, const std::vector<std::vector<Cell>>& rows,
                  const TableOptions& options = {}) {
  std::string bytes;
  const auto sink = [&](std::string_view more) -> Result<void> {
    bytes += more;
    return {};
  };
  const auto writer = make_table_writer(format, kColumns, sink, options);
  EXPECT_TRUE(writer);
  for (const auto& row : rows) {
    EXPECT_TRUE((*writer)->add_row(row));
  }
  EXPECT_TRUE((*writer)->finish());
  return bytes;
}

const std::vector<std::vector<Cell>> kRows = {
    {"plain", std::int64_t{1}, 0.1, std::int64_t{1794719617490327}},
    {"a \"b\",\nc", std::int64_t{-9223372036854775807}, kNaN, {}},
    {"", {}, -kInfinity, {}},
    {{}, {}, {}, {}},
};

TEST(csv, texts_are_quoted_where_they_must_be) {
  EXPECT_EQ(table(TableFormat::Csv, kRows),
            "\"na,me\",step,value,when\n"
            "plain,1,0.1,1794719617490327\n"
            "\"a \"\"b\"\",\nc\",-9223372036854775807,nan,\n"
            "\"\",,-inf,\n"
            ",,,\n");
}

TEST(jsonl, what_is_missing_is_left_out_and_nan_is_text) {
  EXPECT_EQ(table(TableFormat::Jsonl, kRows),
            "{\"na,me\":\"plain\",\"step\":1,\"value\":0.1,\"when\":1794719617490327}\n"
            "{\"na,me\":\"a \\\"b\\\",\\nc\",\"step\":-9223372036854775807,\"value\":\"NaN\"}\n"
            "{\"na,me\":\"\",\"value\":\"-Infinity\"}\n"
            "{}\n");
}

TEST(jsonl, doubles_come_back_exactly) {
  const double third = 1.0 / 3;
  EXPECT_EQ(table(TableFormat::Jsonl, {{Cell(), Cell(), Cell(third), Cell()}}),
            "{\"value\":0.3333333333333333}\n");
}

// By hand from the format's description, for a table without rows; pyarrow reads the others
// (tests/python/exchange_test.py).
TEST(parquet, an_empty_table_is_magic_footer_magic) {
  const std::string bytes = table(TableFormat::Parquet, {});
  const std::string footer = bytes.substr(4, bytes.size() - 12);
  EXPECT_EQ(bytes.substr(0, 4), "PAR1");
  EXPECT_EQ(bytes.substr(bytes.size() - 4), "PAR1");
  EXPECT_EQ(static_cast<std::size_t>(static_cast<unsigned char>(bytes[bytes.size() - 8])),
            footer.size());
  // version 2; five schema elements; the root: name "schema", 4 children
  EXPECT_EQ(footer.substr(0, 14), std::string("\x15\x04\x19\x5c\x48\x06schema\x15\x08", 14));
  // and the end: 0 rows, no row groups, created_by "kedge"
  EXPECT_EQ(footer.substr(footer.size() - 12),
            std::string("\x16\x00\x19\x0c\x28\x05kedge\x00", 12));
}

TEST(parquet, it_shrinks_what_repeats) {
  const std::vector<std::vector<Cell>> rows(5000, kRows[0]);
  const auto plain = table(TableFormat::Parquet, rows, {.is_compressed = false}).size();
  EXPECT_GT(plain, 5000U * (4 + 5 + 8 + 8 + 8));
  EXPECT_LT(table(TableFormat::Parquet, rows).size(), plain / 50);
}

TEST(table, a_file_is_there_when_it_is_complete) {
  const ScratchFolder folder;
  const Path path = folder / "t.csv";
  const auto failed = write_table(path, TableFormat::Csv, kColumns, [](TableWriter&) {
    return Result<void>(fail(ErrorKind::Io, "no more rows"));
  });
  EXPECT_FALSE(failed);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(
      write_table(path, TableFormat::Csv, {{"a", ColumnType::Integer}}, [](TableWriter& table) {
        const std::array<Cell, 1> row = {std::int64_t{7}};
        return table.add_row(row);
      }));
  EXPECT_EQ(read_file(path).value(), "a\n7\n");
}

TEST(table, a_sink_that_fails_is_heard) {
  const auto sink = [](std::string_view) -> Result<void> { return fail(ErrorKind::Io, "full"); };
  EXPECT_FALSE(make_table_writer(TableFormat::Parquet, kColumns, sink));
  const auto csv = make_table_writer(TableFormat::Csv, kColumns, sink);
  ASSERT_TRUE(csv);
  EXPECT_EQ((*csv)->finish().error().message, "full");
}

TEST(table, formats_have_names) {
  EXPECT_EQ(parse_table_format("parquet"), TableFormat::Parquet);
  EXPECT_EQ(parse_table_format("xlsx"), std::nullopt);
}

}  // namespace
}  // namespace kedge::exchange
