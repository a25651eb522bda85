#include "train/internal/best.h"

#include <array>
#include <cmath>
#include <string_view>

namespace kedge::train {

bool more_is_better(config::Goal goal, const std::string& metric) {
  if (goal != config::Goal::Auto) {
    return goal == config::Goal::Maximize;
  }
  constexpr std::array<std::string_view, 3> kFalling = {"loss", "perplexity", "error"};
  for (const std::string_view word : kFalling) {
    if (metric.find(word) != std::string::npos) {
      return false;
    }
  }
  return true;
}

bool Best::observe(double value) {
  const bool is_better =
      !std::isnan(value) &&
      (!value_ || (more_is_better_ ? value > *value_ + delta_ : value < *value_ - delta_));
  if (is_better) {
    value_ = value;
    since_ = 0;
  } else {
    ++since_;
  }
  return is_better;
}

}  // namespace kedge::train
