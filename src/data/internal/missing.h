// The error of a source that finds nothing where it looks.
#pragma once

#include <string>

#include "config/data_config.h"
#include "core/result.h"

namespace kedge::data {

// NotFound; the hint names `kedge data get` where that can help, and data.path otherwise.
Error missing_data(const config::DataConfig& config, const std::string& what);

}  // namespace kedge::data
