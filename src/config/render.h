// The config as text: the effective file of a run, `config show` and the reference page.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "config/load.h"

namespace kedge::config {

// Nested YAML of every value; load_config() of it gives the same config.
std::string render_effective(const LoadedConfig& config);

// The same with where each value came from, as comments.
std::string render_with_origins(const LoadedConfig& config);

// {"optimizer.lr": {"value": 0.001, "origin": "default"}, ...}
nlohmann::json render_json(const LoadedConfig& config);

// Markdown: every key with its type, default and meaning.
std::string render_reference();

}  // namespace kedge::config
