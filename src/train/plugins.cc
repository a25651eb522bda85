#include "train/plugins.h"

#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/dataset.h"
#include "nn/loss.h"
#include "nn/model.h"
#include "train/optimizer.h"
#include "train/schedules/schedule.h"

namespace kedge::train {
namespace {

template <typename Plugins>
NamesAndSummaries entries_of() {
  NamesAndSummaries list;
  for (const auto& [name, entry] : Plugins::all()) {
    list.emplace_back(name, entry.summary);
  }
  return list;
}

template <typename Plugins>
config::PluginKeys keys_of(std::string section, const std::set<std::string>& chosen) {
  config::PluginKeys keys{.section = std::move(section),
                          .chosen = fmt::format("{}", fmt::join(chosen, " and ")),
                          .chosen_by = "name",
                          .read = {},
                          .readers = {}};
  for (const std::string& name : chosen) {
    if (!Plugins::all().contains(name)) {
      return keys;
    }
  }
  for (const auto& [name, entry] : Plugins::all()) {
    for (const std::string_view key : entry.reads) {
      keys.readers[std::string(key)].emplace_back(name);
      if (chosen.contains(std::string(name))) {
        keys.read.emplace(key);
      }
    }
  }
  return keys;
}

config::PluginKeys model_keys(const config::ModelConfig& model) {
  config::PluginKeys keys = keys_of<nn::Models>("model", {model.name});
  if (!model.file.empty()) {
    keys.chosen = model.file;
    keys.chosen_by = "file";
    keys.read = {"vocab"};  // by the task, whatever the model
  }
  return keys;
}

config::PluginKeys data_keys(const config::DataConfig& data) {
  std::set<std::string> names;
  for (const auto& [name_or_path, weight] : data.mix) {
    names.insert(data::Sources::all().contains(name_or_path) ? name_or_path : data.name);
  }
  config::PluginKeys keys =
      keys_of<data::Sources>("data", names.empty() ? std::set{data.name} : names);
  keys.chosen_by = names.empty() ? "name" : "mix";
  return keys;
}

}  // namespace

NamesAndSummaries list_plugins(const std::string& kind) {
  if (kind == "models") {
    return entries_of<nn::Models>();
  }
  if (kind == "losses") {
    return entries_of<nn::Losses>();
  }
  if (kind == "optimizers") {
    return entries_of<Optimizers>();
  }
  if (kind == "schedules") {
    return entries_of<Schedules>();
  }
  return {};
}

std::vector<config::UnreadKey> find_unread_keys(const config::LoadedConfig& config) {
  std::vector<config::UnreadKey> unread;
  for (const config::PluginKeys& keys : {model_keys(config->model), data_keys(config->data),
                                         keys_of<Optimizers>("optimizer", {config->optimizer.name}),
                                         keys_of<Schedules>("schedule", {config->schedule.name}),
                                         keys_of<nn::Losses>("loss", {config->loss.name})}) {
    const auto found = config::find_unread_keys(config, keys);
    unread.insert(unread.end(), found.begin(), found.end());
  }
  return unread;
}

}  // namespace kedge::train
