// What a run has logged over all its attempts. An attempt that went on from step s replaces what
// older ones logged beyond s, whether it has logged those steps again or not yet.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/result.h"

namespace kedge::track {

struct Record {
  int attempt = 1;
  int rank = 0;
  std::uint64_t seq = 0;
  std::string type;
  std::int64_t step = 0;
  std::int64_t time_us = 0;  // Unix time
  bool is_replaced = false;  // a later attempt began before its step
  nlohmann::json body;
};

// Every record of every event log, attempt by attempt, in the order they were logged. Damage ends a
// file early; it is told in the returned lines and costs nothing else. NotFound: no such folder.
Result<std::vector<std::string>> read_records(const Path& run,
                                              const std::function<void(const Record&)>& visit);

struct Point {
  std::int64_t step = 0;
  double value = 0;
  std::int64_t time_us = 0;
  int attempt = 1;
};

struct Curve {
  std::vector<Point> points;    // one per step, in order
  std::vector<Point> replaced;  // older versions of steps, in order of step and attempt
};

struct History {
  std::map<std::string, Curve> curves;  // of the scalars records
  std::vector<std::string> problems;
};

struct HistoryOptions {
  std::string key = {};       // only this metric; empty: all
  bool with_replaced = true;  // false: less memory
};

Result<History> read_history(const Path& run, const HistoryOptions& options = {});

}  // namespace kedge::track
