// Keys that a person wrote for another plug-in than the chosen one, which would be ignored.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/load.h"
#include "core/result.h"

namespace kedge::config {

// Which plug-ins of a section read which of its keys (Registry::Entry::reads).
struct PluginKeys {
  std::string section;                                      // "optimizer"
  std::string chosen;                                       // "sgd"
  std::string chosen_by;                                    // "name": the key that says so
  std::set<std::string> read;                               // by the chosen one: "momentum"
  std::map<std::string, std::vector<std::string>> readers;  // of each key that only some read
};

struct UnreadKey {
  std::string path;
  std::string message;               // with its place, and what the chosen plug-in reads instead
  std::vector<std::string> readers;  // plug-ins that read it
  // It stands in an earlier layer than the choice, as a file's keys do where the command line names
  // another plug-in than the file: written for that one, and no mistake.
  bool is_overruled = false;
};

// What a person wrote for this run. Where a sweep chooses, values of earlier layers are those that
// all its trials have in common, and are not among them.
std::vector<UnreadKey> find_unread_keys(const LoadedConfig& config, const PluginKeys& keys);

// A Usage error that lists those that are mistakes, if there are any.
Result<void> refuse_unread_keys(std::vector<UnreadKey> unread);

}  // namespace kedge::config
