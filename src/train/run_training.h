// `kedge train`: from a config to a trained model in a run folder.
#pragma once

#include "config/load.h"
#include "core/result.h"

namespace kedge::train {

// Makes everything the config names, trains, and leaves run folder, checkpoints and summary.
// Nothing is written before the config, the data and the model have been found to be sound.
Result<void> run_training(const config::LoadedConfig& config, int argc, const char* const* argv);

}  // namespace kedge::train
