#include "exchange/curves.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <span>

#include <fmt/format.h>

#include "exchange/csv_reader.h"

namespace kedge::exchange {
namespace {

using Row = std::vector<CsvCell>;

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) {
    text.remove_prefix(1);
  }
  while (text.ends_with(' ') || text.ends_with('\t')) {
    text.remove_suffix(1);
  }
  return text;
}

// Also nan, inf and -Infinity, as the programs of this world write them.
std::optional<double> find_number(std::string_view text) {
  text = trimmed(text);
  text.remove_prefix(text.starts_with('+') ? 1 : 0);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

std::optional<std::size_t> find_column(const Row& header, const std::string& wanted,
                                       std::span<const std::string_view> usual) {
  const auto find = [&](std::string_view name) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < header.size(); ++i) {
      if (lower(trimmed(header[i].text)) == name) {
        return i;
      }
    }
    return std::nullopt;
  };
  if (!wanted.empty()) {
    return find(lower(wanted));
  }
  for (const std::string_view name : usual) {
    if (const auto column = find(name)) {
      return column;
    }
  }
  return std::nullopt;
}

Error no_column(const Row& header, std::string_view what) {
  std::string names;
  for (const CsvCell& cell : header) {
    names += (names.empty() ? "" : ", ") + cell.text;
  }
  return {ErrorKind::Usage, fmt::format("the table has no {} column", what),
          fmt::format("name one of its columns: {}", names)};
}

// Seconds or microseconds, by their size: 1e11 seconds are in the year 5138, as microseconds in
// 1970.
std::int64_t time_us_of(double time) {
  constexpr double kSecondsEnd = 1e11;
  constexpr double kMostUs = 9e18;
  const double time_us = std::abs(time) < kSecondsEnd ? time * 1e6 : time;
  return std::abs(time_us) < kMostUs ? static_cast<std::int64_t>(std::llround(time_us)) : 0;
}

std::optional<std::int64_t> find_step(std::string_view text) {
  constexpr double kMost = 9e18;
  const auto number = find_number(text);
  if (!number || std::abs(*number) > kMost || std::trunc(*number) != *number) {
    return std::nullopt;
  }
  std::int64_t step = static_cast<std::int64_t>(*number);
  text = trimmed(text);
  std::from_chars(text.data(), text.data() + text.size(), step);  // exact beyond 2^53
  return step;
}

class CurveReader {
 public:
  CurveReader(Row header, std::size_t step_column, std::optional<std::size_t> time_column)
      : header_(std::move(header)),
        step_column_(step_column),
        time_column_(time_column),
        curves_(header_.size()),
        is_curve_(header_.size(), true) {}

  Result<void> add(const Row& row, std::size_t line) {
    if (row.size() > header_.size()) {
      return fail(ErrorKind::Corrupt, fmt::format("CSV line {}: {} cells, but {} columns", line,
                                                  row.size(), header_.size()));
    }
    const auto step = row.size() > step_column_ ? find_step(row[step_column_].text) : std::nullopt;
    if (!step) {
      return fail(ErrorKind::Corrupt, fmt::format("CSV line {}: no whole number in the column '{}'",
                                                  line, header_[step_column_].text));
    }
    track::Point point{.step = *step};
    if (time_column_ && *time_column_ < row.size()) {
      point.time_us = time_us_of(find_number(row[*time_column_].text).value_or(0));
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
      add_cell(i, row[i], point);
    }
    return {};
  }

  ImportedCurves finish() {
    ImportedCurves imported;
    for (std::size_t i = 0; i < header_.size(); ++i) {
      const std::string name(trimmed(header_[i].text));
      if (i == step_column_ || i == time_column_) {
        continue;
      }
      if (!is_curve_[i]) {
        imported.notes.push_back(fmt::format("column '{}' does not hold numbers alone", name));
      } else if (name.empty()) {
        imported.notes.push_back(fmt::format("column {} has no name", i + 1));
      } else if (!curves_[i].empty() && !imported.curves.emplace(name, curves_[i]).second) {
        imported.notes.push_back(fmt::format("column '{}' is there twice", name));
      }
    }
    return imported;
  }

 private:
  void add_cell(std::size_t column, const CsvCell& cell, track::Point point) {
    if (column == step_column_ || column == time_column_ || !is_curve_[column] ||
        trimmed(cell.text).empty()) {
      return;
    }
    if (const auto value = find_number(cell.text)) {
      point.value = *value;
      curves_[column].push_back(point);
    } else {
      is_curve_[column] = false;
      curves_[column] = {};
    }
  }

  Row header_;
  std::size_t step_column_;
  std::optional<std::size_t> time_column_;
  std::vector<std::vector<track::Point>> curves_;
  std::vector<bool> is_curve_;
};

}  // namespace

std::vector<Column> long_columns() {
  return {{"key", ColumnType::Text},
          {"step", ColumnType::Integer},
          {"time_us", ColumnType::TimeUs},
          {"value", ColumnType::Number},
          {"attempt", ColumnType::Integer}};
}

Result<void> write_long(const track::History& history, TableWriter& table) {
  for (const auto& [key, curve] : history.curves) {
    for (const track::Point& point : curve.points) {
      const std::array<Cell, 5> row = {std::string_view(key), point.step, point.time_us,
                                       point.value, std::int64_t{point.attempt}};
      KEDGE_TRY(table.add_row(row));
    }
  }
  return {};
}

std::vector<Column> wide_columns(const track::History& history) {
  std::vector<Column> columns = {{"step", ColumnType::Integer}, {"time_us", ColumnType::TimeUs}};
  for (const auto& [key, curve] : history.curves) {
    columns.push_back({key, ColumnType::Number});
  }
  return columns;
}

// Every curve has its points in order of step, one a step: they are merged.
Result<void> write_wide(const track::History& history, TableWriter& table) {
  std::vector<const std::vector<track::Point>*> curves;
  std::set<std::int64_t> steps;
  for (const auto& [key, curve] : history.curves) {
    curves.push_back(&curve.points);
    for (const track::Point& point : curve.points) {
      steps.insert(point.step);
    }
  }
  std::vector<std::size_t> at(curves.size());
  std::vector<Cell> row(curves.size() + 2);
  for (const std::int64_t step : steps) {
    row[0] = step;
    std::optional<std::int64_t> time_us;
    for (std::size_t i = 0; i < curves.size(); ++i) {
      row[i + 2] = {};
      if (at[i] < curves[i]->size() && (*curves[i])[at[i]].step == step) {
        const track::Point& point = (*curves[i])[at[i]++];
        row[i + 2] = point.value;
        time_us = std::min(time_us.value_or(point.time_us), point.time_us);
      }
    }
    row[1] = *time_us;
    KEDGE_TRY(table.add_row(row));
  }
  return {};
}

Result<ImportedCurves> read_csv_curves(std::string_view text, const TableReading& reading) {
  static constexpr std::array<std::string_view, 5> kStepNames = {"step", "_step", "global_step",
                                                                 "iteration", "epoch"};
  static constexpr std::array<std::string_view, 4> kTimeNames = {"time_us", "_timestamp",
                                                                 "timestamp", "wall time"};
  CsvReader csv(text);
  const auto header = KEDGE_TRY(csv.next());
  if (!header) {
    return fail(ErrorKind::Usage, "the table is empty");
  }
  const auto step_column = find_column(*header, reading.step_column, kStepNames);
  if (!step_column) {
    return std::unexpected(
        no_column(*header, reading.step_column.empty() ? "step" : reading.step_column));
  }
  const auto time_column = find_column(*header, reading.time_column, kTimeNames);
  if (!time_column && !reading.time_column.empty()) {
    return std::unexpected(no_column(*header, reading.time_column));
  }
  CurveReader curves(*header, *step_column, time_column);
  while (const auto row = KEDGE_TRY(csv.next())) {
    KEDGE_TRY(curves.add(*row, csv.line()));
  }
  return curves.finish();
}

}  // namespace kedge::exchange
