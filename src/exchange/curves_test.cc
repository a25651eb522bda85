#include "exchange/curves.h"

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exchange/csv_reader.h"

namespace kedge::exchange {
namespace {

using testing::ElementsAre;

track::History example() {
  track::History history;
  history.curves["loss"].points = {{1, 0.5, 100, 1}, {2, 0.25, 200, 1}, {4, 0.125, 400, 2}};
  history.curves["val"].points = {{2, 0.9, 190, 1}};
  return history;
}

std::string csv_of(const std::vector<Column>& columns,
                   Result<void> (*write)(const track::History&, TableWriter&)) {
  std::string bytes;
  const auto sink = [&](std::string_view more) -> Result<void> {
    bytes += more;
    return {};
  };
  const auto writer = *make_table_writer(TableFormat::Csv, columns, sink);
  EXPECT_TRUE(write(example(), *writer));
  EXPECT_TRUE(writer->finish());
  return bytes;
}

TEST(curves, long_is_a_row_a_point) {
  EXPECT_EQ(csv_of(long_columns(), write_long),
            "key,step,time_us,value,attempt\n"
            "loss,1,100,0.5,1\n"
            "loss,2,200,0.25,1\n"
            "loss,4,400,0.125,2\n"
            "val,2,190,0.9,1\n");
}

TEST(curves, wide_is_a_row_a_step) {
  EXPECT_EQ(csv_of(wide_columns(example()), write_wide),
            "step,time_us,loss,val\n"
            "1,100,0.5,\n"
            "2,190,0.25,0.9\n"
            "4,400,0.125,\n");
}

TEST(curves, csv_with_a_step_column_is_read) {
  const auto read = read_csv_curves(
      "Step,loss,note,_timestamp,acc\r\n"
      "0,0.5,begin,1794719617.25,\r\n"
      "10,nan,,1794719618,0.75\r\n"
      "9007199254740993,-inf,end,1794719619000000,1\r\n");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->curves.size(), 2U);
  const auto& loss = read->curves.at("loss");
  ASSERT_EQ(loss.size(), 3U);
  EXPECT_EQ(loss[0].step, 0);
  EXPECT_EQ(loss[0].value, 0.5);
  EXPECT_EQ(loss[0].time_us, 1794719617250000);
  EXPECT_TRUE(std::isnan(loss[1].value));
  EXPECT_EQ(loss[2].step, 9007199254740993);
  EXPECT_EQ(loss[2].value, -INFINITY);
  EXPECT_EQ(loss[2].time_us, 1794719619000000);
  EXPECT_EQ(read->curves.at("acc").size(), 2U);
  EXPECT_THAT(read->notes, ElementsAre("column 'note' does not hold numbers alone"));
}

TEST(curves, the_step_column_can_be_named) {
  const auto read = read_csv_curves("a;b,Batch\n1,5\n", {.step_column = "batch"});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->curves.at("a;b")[0].step, 5);
  const auto none = read_csv_curves("x,y\n1,2\n");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "the table has no step column");
  EXPECT_EQ(none.error().hint, "name one of its columns: x, y");
}

TEST(curves, broken_rows_name_their_line) {
  EXPECT_EQ(read_csv_curves("step,x\n1,2\n,3\n").error().message,
            "CSV line 3: no whole number in the column 'step'");
  EXPECT_EQ(read_csv_curves("step,x\n1,2,3\n").error().message,
            "CSV line 2: 3 cells, but 2 columns");
  EXPECT_EQ(read_csv_curves("step,x\n1.5,2\n").error().message,
            "CSV line 2: no whole number in the column 'step'");
  EXPECT_EQ(read_csv_curves("").error().message, "the table is empty");
}

std::vector<std::vector<std::string>> rows_of(std::string_view text) {
  std::vector<std::vector<std::string>> rows;
  CsvReader reader(text);
  for (auto row = reader.next(); row && *row; row = reader.next()) {
    rows.emplace_back();
    for (const CsvCell& cell : **row) {
      rows.back().push_back(cell.text);
    }
  }
  return rows;
}

TEST(csv_reader, quotes_and_line_ends_as_in_rfc_4180) {
  EXPECT_THAT(rows_of("\xEF\xBB\xBF"
                      "a,\"b \"\"q\"\", c\"\r\n\r\n\"x\ny\",\n,,\nlast"),
              ElementsAre(ElementsAre("a", "b \"q\", c"), ElementsAre("x\ny", ""),
                          ElementsAre("", "", ""), ElementsAre("last")));
}

TEST(csv_reader, open_quotes_are_corrupt) {
  CsvReader open("a\n\"b");
  ASSERT_TRUE(open.next());
  EXPECT_EQ(open.next().error().message, "CSV line 2: a quote is not closed");
  CsvReader behind("\"a\"b");
  EXPECT_EQ(behind.next().error().message, "CSV line 1: text behind a closing quote");
}

}  // namespace
}  // namespace kedge::exchange
