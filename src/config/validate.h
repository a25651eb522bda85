// Combinations of values that cannot work, found before anything is started.
#pragma once

#include "config/load.h"
#include "core/result.h"

namespace kedge::config {

Result<void> validate(const LoadedConfig& config);

}  // namespace kedge::config
