// The history in a run-*.wandb file, which wandb writes in offline mode: frames of LevelDB's log
// format around protobuf records.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/file.h"

namespace kedge::sweep {

// Each number that the run logged, in order. What is torn or unknown ends or is passed over.
void read_wandb_history(const Path& file,
                        const std::function<void(const std::string& key, double value)>& visit);

}  // namespace kedge::sweep
