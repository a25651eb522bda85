// What a person sees of a training: facts first, a bar while it runs, a line per epoch, a summary.
// Every line also goes to the run's console log.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/progress.h"
#include "core/result.h"
#include "core/stopwatch.h"
#include "data/dataset.h"
#include "track/run.h"
#include "train/evaluator.h"
#include "train/meters.h"

namespace kedge::train {

// Where an epoch's line stands in time.
struct EpochFacts {
  std::int64_t epoch = 0;  // from 1
  std::int64_t epochs = 0;
  std::int64_t step = 0;
  double seconds = 0;
  double samples_per_s = 0;
  double lr = 0;
  bool is_best = false;
};

class Reporter {
 public:
  // `log_file` gets a line per epoch as well; empty: none. Of a silent run nothing is told.
  static Result<std::unique_ptr<Reporter>> make(track::Run& run, const std::string& log_file);

  void say(std::string_view line) { say(line, line); }

  void epoch(const EpochFacts& facts, const Metrics& metrics);
  void validation(std::int64_t step, const Metrics& metrics, bool is_best);

  // The confusion matrix and the table of predictions, into the run.
  void evaluation(std::int64_t step, const Evaluation& evaluation, const Preparation& preparation,
                  const data::Dataset& dataset);

  // As many bars like it as `more` come after it.
  void start_bar(std::string title, std::int64_t total, std::string item_name, std::int64_t first,
                 std::int64_t more);

  // `loss` is nothing before the first one is known.
  void advance(std::int64_t done, std::int64_t items, std::optional<double> loss);

  void end_bar();

 private:
  explicit Reporter(track::Run& run) : run_(run) {}

  // The line for the run's log, and what the terminal shows of it.
  void say(std::string_view line, std::string_view shown);

  track::Run& run_;
  OwnedFd log_file_;
  Path log_path_;
  std::unique_ptr<Progress> bar_;
  std::optional<Stopwatch> since_bar_;  // runs between two bars
};

}  // namespace kedge::train
