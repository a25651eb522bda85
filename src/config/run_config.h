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

enum class Watch : std::uint8_t { None, Parameters, Gradients, All };

constexpr std::array<std::string_view, 4> enum_names(Watch) {
  return {"none", "parameters", "gradients", "all"};
}

enum class SentCheckpoints : std::uint8_t { None, Best, All };

constexpr std::array<std::string_view, 3> enum_names(SentCheckpoints) {
  return {"none", "best", "all"};
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
    s.every_field(InHash::Never);
    s.field("project", project, "the folder and the group of runs that this run belongs to",
            Alias{"wandb_project"});
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
  Seconds system_every = {15};
  std::string server = "";
  std::string token_file = "";
  Seconds server_wait = {10};
  SentCheckpoints checkpoints = SentCheckpoints::None;
  Watch watch = Watch::None;
  std::int64_t watch_every = 100;

  void describe(Section& s) {
    s.every_field(InHash::Never);
    s.field("dir", dir, "where run folders are made: <dir>/<project>/<run id>/");
    s.field("csv", csv,
            "a CSV of the epoch metrics, inside the run folder unless absolute; empty: none",
            Alias{"metrics_csv"});
    s.field("log_file", log_file, "also append a line per epoch to this file; empty: none",
            Alias{"log_file"});
    s.field("confusion", confusion, "keep a confusion matrix of the validation set per epoch");
    s.field("predictions", predictions,
            "rows in the table of predictions kept per epoch; 0: no table", between(0, 1000));
    s.field("system_every", system_every,
            "time between samples of CPU, memory, disk, network and GPU; 0: none");
    s.field("server", server,
            "a tracking server to send the run to while it trains, e.g. http://node1:8080; empty: "
            "only keep it in its folder. `kedge sync` sends it later");
    s.field("token_file", token_file,
            "a file with the token for that server; empty: $KEDGE_TOKEN, or the key of your own "
            "server");
    s.field("server_wait", server_wait,
            "how long to wait at the end for what has not been sent yet");
    s.field("checkpoints", checkpoints,
            "checkpoints to send to that server, as versions of an artifact of the run: none, the "
            "best, all");
    s.field("watch", watch, "histograms to log: of parameters, of gradients, of all, of none");
    s.field("watch_every", watch_every, "steps between those histograms", at_least(1));
  }
};

struct CheckpointConfig {
  bool enabled = true;
  std::string every = "auto";
  std::string name = "step-{step:08}";
  std::int64_t keep_last = 2;
  std::int64_t keep_best = 1;
  std::string keep_every = "never";
  std::string fast_dir = "";
  bool async = true;
  bool verify = true;
  bool link_frozen = false;
  std::string metric = "";
  Goal goal = Goal::Auto;

  void describe(Section& s) {
    s.every_field(InHash::Never);
    s.field("enabled", enabled, "save checkpoints at all", Alias{"use_checkpoint"});
    s.field("every", every,
            "when to save: 1 epoch, 500 steps, 10m, never (only at the end), or auto: as often as "
            "loses least time, from the measured cost of a save and the failures seen. A plain "
            "number counts epochs. The best and the last state are always saved",
            Alias{"checkpoint_every"});
    s.field("name", name, "a checkpoint's folder, from {step}, {epoch}, {seed} and {run}");
    s.field("keep_last", keep_last, "how many of the newest checkpoints to keep", at_least(1));
    s.field("keep_best", keep_best, "how many of the best checkpoints to keep", at_least(0));
    s.field("keep_every", keep_every,
            "checkpoints to keep for ever: 10 epochs, 5000 steps; never: none");
    s.field("fast_dir", fast_dir,
            "a folder on fast local storage (/dev/shm, an SSD) that is saved to first; a copy to "
            "the run folder follows in the background; empty: straight to the run folder");
    s.field("async", async, "write beside the training; false: training waits for each save");
    s.field("verify", verify, "read each checkpoint back before older ones are removed");
    s.field("link_frozen", link_frozen,
            "write frozen weights once, into model-frozen.safetensors, and have later checkpoints "
            "of the run link to that file; false: model.safetensors holds all weights");
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
