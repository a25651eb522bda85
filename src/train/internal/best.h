// Which of many values of a metric is the best, and how long ago it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/run_config.h"

namespace kedge::train {

// Whether more of this metric is better; auto goes by its name: loss, perplexity and error fall.
bool more_is_better(config::Goal goal, const std::string& metric);

class Best {
 public:
  Best(bool more_is_better, double delta) : more_is_better_(more_is_better), delta_(delta) {}

  // True when `value` is better than all before by more than delta. NaN never is.
  bool observe(double value);

  std::optional<double> value() const { return value_; }

  // Observations since the best one.
  std::int64_t since() const { return since_; }

  void restore(std::optional<double> value, std::int64_t since) {
    value_ = value;
    since_ = since;
  }

 private:
  bool more_is_better_;
  double delta_;
  std::optional<double> value_;
  std::int64_t since_ = 0;
};

}  // namespace kedge::train
