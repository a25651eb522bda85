// A run's curves as tables, and tables as curves.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "exchange/table.h"
#include "track/history.h"

namespace kedge::exchange {

// One row a point: key, step, time, value, attempt.
std::vector<Column> long_columns();
Result<void> write_long(const track::History& history, TableWriter& table);

// One row a step: step, time (of the step's first value), then a column a metric.
std::vector<Column> wide_columns(const track::History& history);
Result<void> write_wide(const track::History& history, TableWriter& table);

struct TableReading {
  std::string step_column = {};  // empty: the first of step, _step, global_step, iteration, epoch
  std::string time_column = {};  // empty: time_us, _timestamp, timestamp or wall time, if any
};

struct ImportedCurves {
  std::map<std::string, std::vector<track::Point>> curves;  // a time of 0: not known
  std::vector<std::string> notes;                           // columns that are no curves, and why
};

// A CSV table with a row a step; names in any case. Empty cells are no points. Columns that hold
// anything but numbers are left out, with a note.
Result<ImportedCurves> read_csv_curves(std::string_view text, const TableReading& reading = {});

}  // namespace kedge::exchange
