// Reads a config in layers: defaults < file < environment < sweep values < command line.
// Every field remembers who set it last; every mistake is reported, each with its place.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::config {

struct LoadOptions {
  Path file = {};                                       // empty: no file, defaults only
  std::string text = {};                                // the file's content, where there is none
  std::map<std::string, std::string> environment = {};  // KEDGE__OPTIMIZER__LR and the like
  std::string sweep_values = {};                        // a YAML/JSON map, or @file
  std::vector<std::string> overrides = {};  // "optimizer.lr=3e-4", "--optimizer.lr=3e-4"
};

// The config with its fields; fields point into the config, so it stays where it is.
class LoadedConfig {
 public:
  LoadedConfig();
  LoadedConfig(LoadedConfig&&) = default;
  LoadedConfig& operator=(LoadedConfig&&) = default;

  const Config& operator*() const { return *config_; }

  const Config* operator->() const { return config_.get(); }

  std::vector<Field>& fields() { return fields_; }

  const std::vector<Field>& fields() const { return fields_; }

  const Field* find(std::string_view path) const;

  // Names values that make the same experiment: not where it is kept, saved or run.
  std::string hash() const;

  Path file;
  std::string file_text;           // verbatim
  std::vector<std::string> notes;  // what a reader of the file might not expect

 private:
  std::unique_ptr<Config> config_;
  std::vector<Field> fields_;
};

Result<LoadedConfig> load_config(const LoadOptions& options);

// The file a verb should read: `given`, else $KEDGE_CONFIG, else config.yaml; must exist.
Result<Path> find_config_file(const std::string& given);

// All KEDGE__ variables of this process, $KEDGE_RUN_ID (which launchers set; KEDGE__RUN__ID wins),
// and $KEDGE_SWEEP_VALUES.
void read_environment(LoadOptions& options);

}  // namespace kedge::config
