// Config is one job, whole: every value a run depends on, with its default.
// The room reads YAML, environment, sweep values and command line into it; it knows nothing of
// what the values are used for, and starts nothing.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "config/data_config.h"
#include "config/dist_config.h"
#include "config/job_config.h"
#include "config/model_config.h"
#include "config/run_config.h"
#include "config/section.h"
#include "config/train_config.h"

namespace kedge::config {

enum class Resume : std::uint8_t { Auto, Must, Never };

constexpr std::array<std::string_view, 3> enum_names(Resume) {
  return {"auto", "must", "never"};
}

struct Config {
  std::int64_t seed = 42;
  Resume resume = Resume::Auto;
  RunConfig run;
  ModelConfig model;
  DataConfig data;
  TransformConfig transform;
  LoaderConfig loader;
  TrainConfig train;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  LossConfig loss;
  DistillConfig distill;
  EmaConfig ema;
  EarlyStopConfig early_stop;
  CheckpointConfig checkpoint;
  TrackConfig track;
  DistConfig dist;
  JobConfig job;

  void describe(Section& s) {
    s.field("seed", seed, "seed of everything random in training", at_least(0),
            Fixed{"the order of the samples follows from it"});
    s.field("resume", resume,
            "an unfinished run of this config, or the run that run.id names: auto goes on with it "
            "if there is one, must refuses to start a new one, never starts a new one",
            InHash::Never, Means{"true", "auto"}, Means{"false", "never"});
    s.section("run", run);
    s.section("model", model);
    s.section("data", data);
    s.section("transform", transform);
    s.section("loader", loader);
    s.section("train", train);
    s.section("optimizer", optimizer);
    s.section("schedule", schedule);
    s.section("loss", loss);
    s.section("distill", distill);
    s.section("ema", ema);
    s.section("early_stop", early_stop);
    s.section("checkpoint", checkpoint);
    s.section("track", track);
    s.section("dist", dist);
    s.section("job", job);
  }
};

}  // namespace kedge::config
