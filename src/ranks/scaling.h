// What measured speeds of several numbers of ranks say: speed-up, efficiency, and how far more
// ranks could go by Amdahl's law. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kedge::ranks {

struct ScalePoint {
  std::int64_t ranks = 1;
  double samples_per_s = 0;
  double collective_fraction = 0;  // of the time, waiting for other ranks
};

struct ScaleRow {
  ScalePoint point;
  double speed_up = 1;    // against one rank
  double efficiency = 1;  // speed-up a rank
};

// `points` begin with one rank.
std::vector<ScaleRow> compare_scales(std::span<const ScalePoint> points);

// The fraction p of the work that more ranks make faster, from speed-up S with n ranks:
// S = 1 / ((1 - p) + p / n). Nothing with one rank alone; between 0 and 1.
std::optional<double> parallel_fraction(const ScaleRow& row);

// How many ranks to use, in a sentence: the fewest that are within a tenth of the fastest.
std::string advise_ranks(std::span<const ScaleRow> rows);

// Whether a job of so many machines had better stay on one: what the ranks of one machine lose to
// each other, those of several lose more of, over a network. Empty where nothing speaks against it.
std::string advise_nodes(std::span<const ScaleRow> rows, std::int64_t nodes);

}  // namespace kedge::ranks
