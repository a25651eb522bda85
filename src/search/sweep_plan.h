// A SweepPlan is a sweep file, read: the W&B sweep format as it is, and our own additions.
// docs/reference/sweep.md lists the keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "search/space.h"

namespace kedge::search {

enum class Goal : std::uint8_t { Minimize, Maximize };

struct Metric {
  std::string name;
  Goal goal = Goal::Minimize;
  std::optional<double> target = {};  // reached: no more trials
  bool uses_best = false;             // a trial's best value counts, not its last

  // Whether `a` is a better result than `b`.
  bool is_better(double a, double b) const { return goal == Goal::Minimize ? a < b : a > b; }

  // Smaller is better, whatever the goal.
  double loss_of(double value) const { return goal == Goal::Minimize ? value : -value; }

  bool is_reached(double value) const { return target && !is_better(*target, value); }
};

enum class Rule : std::uint8_t { None, Hyperband, Asha, Median };

// Brackets are counted in reports of the metric.
struct EarlyTerminate {
  Rule rule = Rule::None;
  std::int64_t min_iter = 0;  // the first bracket; each next one is eta times as far
  std::int64_t max_iter = 0;  // or: brackets max_iter/eta, max_iter/eta^2, ... (s of them)
  std::int64_t s = 0;
  double eta = 3;
  bool strict = false;          // between brackets too
  bool is_promoting = true;     // Asha: a trial that is held back pauses, and may go on later
  std::int64_t min_trials = 3;  // Median: how many others must have come as far
};

struct SweepPlan {
  std::string name;
  std::string description;
  std::string project;
  std::string entity;
  std::string program;
  std::vector<std::string> command;  // with its macros; empty: the usual one for the program
  std::string method;                // a sampler's name, or "custom"
  Metric metric;                     // name empty: none given
  Space space;
  EarlyTerminate early_terminate;
  std::optional<std::int64_t> run_cap;
  std::uint64_t seed = 0;
  std::int64_t retries = 0;                // of a trial that failed
  std::vector<nlohmann::json> rows = {};   // method "list": the values of each trial
  bool is_section = false;                 // it was the `sweep:` section of a config
  std::vector<std::string> warnings = {};  // keys that have no effect, and the like
};

// `where` names the text in errors ("sweep.yaml"). Usage errors name the line and the key.
Result<SweepPlan> parse_sweep(const std::string& yaml_text, const std::string& where);

// How many runs to expect: the grid's size, the rows, or run_cap, whichever ends it first; nothing:
// it goes on until it is stopped.
std::optional<std::int64_t> expected_runs(const SweepPlan& plan);

}  // namespace kedge::search
