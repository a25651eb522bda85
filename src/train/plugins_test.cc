#include "train/plugins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/dataset.h"
#include "nn/loss.h"
#include "nn/model.h"
#include "train/optimizer.h"
#include "train/schedules/schedule.h"

namespace kedge::train {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

template <typename Plugins>
std::vector<std::string> unknown_keys(const std::string& section) {
  const config::LoadedConfig config;
  std::vector<std::string> unknown;
  for (const auto& [name, entry] : Plugins::all()) {
    for (const std::string_view key : entry.reads) {
      if (config.find(section + "." + std::string(key)) == nullptr) {
        unknown.emplace_back(key);
      }
    }
  }
  return unknown;
}

TEST(PluginKeys, every_key_that_a_plugin_reads_is_in_its_section) {
  EXPECT_THAT(unknown_keys<nn::Models>("model"), IsEmpty());
  EXPECT_THAT(unknown_keys<nn::Losses>("loss"), IsEmpty());
  EXPECT_THAT(unknown_keys<data::Sources>("data"), IsEmpty());
  EXPECT_THAT(unknown_keys<Optimizers>("optimizer"), IsEmpty());
  EXPECT_THAT(unknown_keys<Schedules>("schedule"), IsEmpty());
}

std::vector<std::string> unread(std::vector<std::string> overrides) {
  std::vector<std::string> paths;
  for (const auto& key :
       find_unread_keys(config::load_config({.overrides = std::move(overrides)}).value())) {
    paths.push_back(key.path);
  }
  return paths;
}

TEST(PluginKeys, what_the_chosen_plugins_do_not_read_is_found_in_every_section) {
  EXPECT_THAT(unread({"model.name=resnet18", "model.stem=cifar", "model.layers=2"}),
              ElementsAre("model.layers"));
  EXPECT_THAT(unread({"data.name=synthetic", "data.samples=8", "data.context=8", "data.path=x"}),
              ElementsAre("data.context", "data.path"));
  EXPECT_THAT(unread({"optimizer.name=sgd", "optimizer.momentum=0.5", "optimizer.beta1=0.5"}),
              ElementsAre("optimizer.beta1"));
  EXPECT_THAT(unread({"schedule.name=cosine", "schedule.floor=0.1", "schedule.step_size=3"}),
              ElementsAre("schedule.step_size"));
  EXPECT_THAT(unread({"loss.name=mse", "loss.label_smoothing=0.1"}),
              ElementsAre("loss.label_smoothing"));
}

TEST(PluginKeys, a_key_is_read_if_one_of_the_mixed_sources_does) {
  EXPECT_THAT(unread({"data.mix={cifar10: 1, synthetic: 1}", "data.samples=8"}), IsEmpty());
  EXPECT_THAT(unread({"data.mix={cifar10: 1, mnist: 1}", "data.samples=8"}),
              ElementsAre("data.samples"));
}

TEST(PluginKeys, the_dropout_of_a_module_from_python_is_its_own) {
  EXPECT_THAT(unread({"model.name=mlp", "model.dropout=0.5"}), IsEmpty());
  EXPECT_THAT(unread({"model.name=mlp", "model.dropout=0.5", "model.file=module.pt"}),
              ElementsAre("model.dropout"));
}

TEST(PluginKeys, a_name_that_nobody_has_is_another_mistake) {
  EXPECT_THAT(unread({"model.name=resnet81", "model.dropout=0.5"}), IsEmpty());
}

}  // namespace
}  // namespace kedge::train
