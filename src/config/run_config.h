// The sections that say what a run is called, where it is kept and when it is saved.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"

namespace kedge::config {

enum class Goal : std::uint8_t { Auto, Maximize, Minimize };

constexpr std::array<std::string_view, 3> enum_names(Goal) {
  return {"auto", "maximize", "minimize"};
}

struct RunConfig {
  std::string project = "default";
  std::string name = "";
  std::string id = "";
  std::vector<std::string> tags = {};
  std::string notes = "";
  std::string group = "";
  std::string job_type = "train";

  void describe(Section& s) {
    s.field("project", project, "the folder and the group of runs that this run belongs to");
    s.field("name", name, "what people call the run; made up when empty");
    s.field("id", id, "the run's identity; made up when empty");
    s.field("tags", tags, "words to find the run by");
    s.field("notes", notes, "free text kept with the run");
    s.field("group", group, "runs that belong together, e.g. the seeds of one setting");
    s.field("job_type", job_type, "what the run is for, e.g. train, eval");
  }
};

struct TrackConfig {
  std::string dir = "runs";
  std::string csv = "metrics.csv";
  std::string log_file = "";
  bool confusion = true;
  std::int64_t predictions = 16;

  void describe(Section& s) {
    s.field("dir", dir, "where run folders are made: <dir>/<project>/<run id>/");
    s.field("csv", csv,
            "a CSV of the epoch metrics, inside the run folder unless absolute; empty: none");
    s.field("log_file", log_file, "also append a line per epoch to this file; empty: none");
    s.field("confusion", confusion, "keep a confusion matrix of the validation set per epoch");
    s.field("predictions", predictions,
            "rows in the table of predictions kept per epoch; 0: no table", between(0, 1000));
  }
};

struct CheckpointConfig {
  bool enabled = true;
  std::int64_t every = 1;
  std::string metric = "";
  Goal goal = Goal::Auto;

  void describe(Section& s) {
    s.field("enabled", enabled, "save checkpoints at all");
    s.field("every", every, "save the last state every so many epochs; 0: only at the end",
            at_least(0));
    s.field("metric", metric,
            "the metric that decides which checkpoint is best; empty: val/accuracy, or val/loss "
            "where there is no accuracy");
    s.field("goal", goal, "whether more or less of it is better; auto: by the metric's name");
  }
};

struct EarlyStopConfig {
  std::int64_t patience = 0;
  double delta = 0;
  std::string metric = "val/loss";
  Goal goal = Goal::Auto;

  void describe(Section& s) {
    s.field("patience", patience, "stop after so many epochs without improvement; 0: never",
            at_least(0));
    s.field("delta", delta, "a smaller change than this is no improvement", at_least(0));
    s.field("metric", metric, "the metric that must improve");
    s.field("goal", goal, "whether more or less of it is better; auto: by the metric's name");
  }
};

}  // namespace kedge::config
