// Values that name a moment in training: "auto", "2 epochs", "500 steps", "10m", "never".
#pragma once

#include <cstdint>
#include <string_view>

#include "core/result.h"
#include "core/units.h"

namespace kedge::config {

// checkpoint.every: at most one of the members is set; none of them is `never`.
struct SaveInterval {
  bool is_auto = false;
  std::int64_t epochs = 0;
  std::int64_t steps = 0;
  Seconds time = {0};
};

// A plain number counts epochs, 0 is never.
Result<SaveInterval> parse_save_interval(std::string_view text);

// checkpoint.keep_every: epochs or steps.
Result<SaveInterval> parse_keep_interval(std::string_view text);

// train.simulate_crash: zeros and false are `never`.
struct Crash {
  std::int64_t epoch = 0;  // from 1
  std::int64_t step = 0;
  bool is_random = false;
};

Result<Crash> parse_crash(std::string_view text);

}  // namespace kedge::config
