// Runs in groups, summed up: what a table and a chart show of thousands of runs. Every run that
// matches counts, and the order of a search changes no number. Store::group_runs() and
// Store::group_curves() make them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "store/run.h"
#include "store/series.h"
#include "store/spread.h"

namespace kedge::store {

// One value for each field that runs are grouped by. Null stands for a value that is missing, null
// or an empty text; 1 and 1.0 are one value.
using GroupValues = std::vector<nlohmann::json>;

// What a field comes to in a group.
struct FieldSpread {
  std::size_t run_count = 0;           // that have it
  std::size_t value_count = 0;         // different ones
  nlohmann::json value = nullptr;      // where there is only one
  std::optional<Spread> numbers = {};  // where all of them are numbers
};

struct RunGroup {
  GroupValues values;
  std::size_t run_count = 0;
  std::map<std::string, std::size_t> states = {};  // how many runs are in each
  std::vector<FieldSpread> fields = {};            // as GroupRequest::fields
};

struct GroupRequest {
  Search search;                    // `limit` and `offset` count groups
  std::vector<std::string> by;      // as filters name them; at least one
  std::vector<std::string> fields;  // to sum up
};

struct GroupAnswer {
  std::vector<RunGroup> groups;  // in the order in which the search first meets them
  std::size_t total = 0;         // groups
  std::size_t run_total = 0;
  std::vector<std::string> warnings;
};

struct GroupCurvesRequest {
  Search search;                // `limit`: groups, the largest first; `order` does not matter
  std::vector<std::string> by;  // empty: all runs are one group
  std::vector<GroupValues> only = {};  // not empty: just these groups
  SeriesRequest curve = {};  // without run and attempt; `points`: places on the x axis, at least 2
};

// The runs of a group as one curve. A run counts at every x between its own first and last point.
// Where all runs together have at most `points` different x, these are the places, and a run that
// has no point at one counts with the value on the line between its neighbours there. Where they
// have more, the places are the middles of `points` intervals of one width: a run counts with the
// mean of its own points in the interval, or, when it has none there, with the value on its line at
// the middle. So a run that logs more often weighs no more. Values that are not finite do not
// count, nor does the line beside them.
struct GroupCurve {
  GroupValues values;
  std::size_t run_count = 0;    // of the group
  std::size_t curve_count = 0;  // that have points in the range
  std::vector<double> x = {};   // rising
  std::vector<Spread> y = {};   // over runs; each counts at least one
  bool is_binned = false;
  // There are so many points that of each run only the least and greatest value of many short
  // stretches were read: the mean is about right, and the numbers of runs are.
  bool is_sampled = false;
};

struct GroupCurves {
  std::vector<GroupCurve> groups;
  std::size_t total = 0;  // groups
};

}  // namespace kedge::store
