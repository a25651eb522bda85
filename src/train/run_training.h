// `kedge train`: from a config to a trained model in a run folder.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "config/load.h"
#include "core/file.h"
#include "core/result.h"
#include "core/time_limit.h"
#include "device/plugin.h"

namespace kedge::train {

// The pieces of a training's state, as `kedge verify-resume --drop` names them.
inline constexpr std::array<std::string_view, 9> kStatePieces = {
    "position", "schedule", "rng", "loss_scaler", "meters", "optimizer", "model", "ema", "best"};

struct TrainingOptions {
  int argc = 0;  // the command, for the record; outlives the call
  const char* const* argv = nullptr;
  // When the job will be ended from outside; a scheduler may have to be asked. Empty: never.
  std::function<std::optional<TimeLimit>()> find_time_limit = {};
  // For verify-resume: stop as if a signal had come, and forget pieces of the state on resuming.
  std::int64_t stop_after_step = 0;    // 0: never
  std::set<std::string> dropped = {};  // of kStatePieces
  Path restored_copy = {};  // where to write what was restored, before training; empty: nowhere
  bool find_waits = false;  // tell which operations make a step wait for the device
  device::Plugin* host_plugin = nullptr;  // on a CPU, to try what a GPU would capture
};

// Makes everything the config names, or goes on with an unfinished run of it; trains, and leaves
// run folder, checkpoints and summary. Nothing is written before the config, the data and the
// model have been found to be sound. With ranks, each of them calls it and works with the others
// until all return; rank 0 alone writes the run.
//
// Interrupted: asked to stop, everything is saved, and the same call goes on. Usage: the config
// does not go with the data, the model or the saved run; nothing was changed. Corrupt: the loss is
// not finite, or the checkpoint is damaged. Unavailable: another process or rank is in the way. No
// exception of libtorch's leaves it. Not safe to call twice at once: it sets libtorch's threads and
// generators for the whole process.
Result<void> run_training(const config::LoadedConfig& config, const TrainingOptions& options);

}  // namespace kedge::train
