// The plug-ins on libtorch's side of the line, by kind, for `kedge list`, and which of a config's
// keys they read.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/plugin_keys.h"

namespace kedge::train {

using NamesAndSummaries = std::vector<std::pair<std::string, std::string>>;

// "models", "losses", "optimizers", "schedules"; empty for any other word. Sorted by name.
NamesAndSummaries list_plugins(const std::string& kind);

// Keys that a person wrote for this run and that the chosen model, data sources, optimizer,
// schedule or loss does not read. A name that nobody has is another mistake, which is reported
// where it is made.
std::vector<config::UnreadKey> find_unread_keys(const config::LoadedConfig& config);

}  // namespace kedge::train
