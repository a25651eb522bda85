// `kedge run --parse`: the metrics of a program that has no client, out of what it prints or
// writes.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "core/file.h"
#include "core/line_splitter.h"
#include "exchange/line_metrics.h"
#include "track/run.h"

namespace kedge::cli {

class RunMetrics {
 public:
  // `file`: a CSV (.csv) or JSON-lines file that the program writes; empty: what it prints counts.
  // What the file has already is of an earlier program. The run must live longer.
  RunMetrics(track::Run& run, Path file);

  // A line that the program printed; also the moment to look at the file, twice a second at most.
  void see(std::string_view line);

  // The program has ended: the rest of the file.
  void finish();

 private:
  void take(std::string_view line);
  void read_file_on();

  track::Run& run_;
  Path file_;
  exchange::LineMetrics metrics_;
  LineSplitter lines_;
  std::uint64_t offset_ = 0;
  std::chrono::steady_clock::time_point next_look_;
};

}  // namespace kedge::cli
