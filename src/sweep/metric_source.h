// What a trial has reported, whoever it reported to: the run's own log, wandb or mlflow calls, a
// metrics.csv, or lines that it printed.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/file.h"

namespace kedge::sweep {

struct Reports {
  std::vector<double> values;   // of the metric, in order
  std::set<std::string> names;  // metrics that were found, for messages
  std::string source;           // "run log", "wandb", "mlflow", "metrics.csv", "output"; or empty
};

struct MetricPlaces {
  Path run;    // the run's folder; empty: none
  Path trial;  // the trial's folder in the sweep
};

Reports read_reports(const MetricPlaces& places, const std::string& metric);

// The numbers behind "name = 0.5", "name: 0.5" and "name=0.5" in a text, whatever is around them.
std::vector<double> scan_output(const std::string& text, const std::string& name);

}  // namespace kedge::sweep
