// What the keys' facts came to before they stood beside the keys, and must come to for ever: runs
// of older programs are found by the hash, and resumed or refused by what is fixed.
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "config/load.h"

namespace kedge::config {
namespace {

std::string hash_of(const LoadOptions& options) {
  const auto config = load_config(options);
  return config ? config->hash() : config.error().message;
}

TEST(ConfigFacts, an_older_programs_run_keeps_its_hash) {
  for (const std::string run : {"gpt", "mlp"}) {
    const Path folder = Path(KEDGE_FIXTURES) / "old_runs" / run / "runs/default/row";
    const auto recorded = nlohmann::json::parse(read_file(folder / "run.json").value());
    EXPECT_EQ(hash_of({.file = folder / "config.yaml"}), recorded.at("config_hash")) << run;
  }
}

// The expected hashes are those that the program of commit 76b42fb printed.
TEST(ConfigFacts, a_config_keeps_its_hash) {
  EXPECT_EQ(hash_of({}), "xxh3:93da28ac8a6e5e8a0056fc43ebf69419");
  EXPECT_EQ(hash_of({.file = Path(KEDGE_FIXTURES) / "old_runs/gpt/config.yaml"}),
            "xxh3:4c80aa7a44ea2d7900f967eafc091b64");
  EXPECT_EQ(hash_of({.file = "examples/cifar10/workshop.yaml"}),
            "xxh3:d960c247a3a78d52ddd04473c50d27f6");
}

TEST(ConfigFacts, a_key_that_came_later_leaves_the_hash_of_configs_without_it) {
  const auto hash = [](InHash in_hash, const std::string& seed) {
    auto config = load_config({.overrides = {"seed=" + seed}}).value();
    config.fields().front().in_hash = in_hash;
    return config.hash();
  };
  EXPECT_EQ(hash(InHash::UnlessDefault, "42"), hash(InHash::Never, "42"));
  EXPECT_EQ(hash(InHash::UnlessDefault, "43"), hash(InHash::Always, "43"));
}

TEST(ConfigFacts, what_is_fixed_on_resuming_says_why) {
  constexpr std::string_view kModel = "the saved weights belong to another model";
  constexpr std::string_view kSplits = "the training and validation splits would be others";
  constexpr std::string_view kOrder = "the order of the samples follows from it";
  constexpr std::string_view kBatches = "the place in the epoch is counted in batches";
  const std::map<std::string, std::string_view> expected = {
      {"seed", kOrder},
      {"model.name", kModel},
      {"model.file", kModel},
      {"model.finetune", kModel},
      {"model.freeze", kModel},
      {"model.classes", kModel},
      {"model.stem", kModel},
      {"model.batch_norm", kModel},
      {"model.hidden", kModel},
      {"model.layers", kModel},
      {"model.heads", kModel},
      {"model.width", kModel},
      {"model.patch", kModel},
      {"model.vocab", kModel},
      {"data.name", kSplits},
      {"data.root", kSplits},
      {"data.mix", kSplits},
      {"data.val_ratio", kSplits},
      {"data.val_count", kSplits},
      {"data.split_seed", kSplits},
      {"data.stratify", kSplits},
      {"data.sample_ratio", kSplits},
      {"data.classes", kSplits},
      {"data.label_from", kSplits},
      {"data.text_field", kSplits},
      {"data.context", kSplits},
      {"data.samples", kSplits},
      {"data.image_size", kSplits},
      {"data.channels", kSplits},
      {"loader.batch_size", kBatches},
      {"loader.shuffle", kOrder},
      {"loader.drop_last", kBatches},
      {"train.accumulate", "the place in the epoch is counted in whole steps"},
      {"optimizer.name", "the saved state is another optimizer's"},
      {"optimizer.decay", "the saved state is of other parameter groups"},
  };
  std::map<std::string, std::string_view> fixed;
  const LoadedConfig config;
  for (const Field& field : config.fields()) {
    if (!field.fixed.why.empty() && field.in_hash != InHash::UnlessDefault) {  // came later
      fixed[field.path] = field.fixed.why;
    }
  }
  EXPECT_EQ(fixed, expected);
}

// Every flat key with the field that it set in the program of commit 76b42fb.
TEST(ConfigFacts, flat_keys_of_workshop_files_set_what_they_did) {
  std::map<std::string_view, std::string> aliases;
  const LoadedConfig config;
  for (const Field& field : config.fields()) {
    for (const Alias& alias : field.aliases) {
      EXPECT_TRUE(aliases.try_emplace(alias.name, field.path).second) << alias.name;
    }
  }
  const std::map<std::string_view, std::string> expected = {
      {"batch_size", "loader.batch_size"},
      {"num_epochs", "train.epochs"},
      {"epochs", "train.epochs"},
      {"learning_rate", "optimizer.lr"},
      {"scheduler", "schedule.name"},
      {"log_file", "track.log_file"},
      {"data_path", "data.path"},
      {"sample_ratio", "data.sample_ratio"},
      {"num_workers", "loader.workers"},
      {"num_classes", "model.classes"},
      {"pin_memory", "loader.pin_memory"},
      {"model_name", "model.name"},
      {"finetune", "model.finetune"},
      {"mixed_precision", "train.precision"},
      {"metrics_csv", "track.csv"},
      {"wandb_project", "run.project"},
      {"use_checkpoint", "checkpoint.enabled"},
      {"checkpoint_every", "checkpoint.every"},
      {"simulate_crash", "train.simulate_crash"},
  };
  EXPECT_EQ(aliases, expected);
}

}  // namespace
}  // namespace kedge::config
