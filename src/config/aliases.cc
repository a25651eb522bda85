#include "config/aliases.h"

#include <algorithm>
#include <array>

namespace kedge::config {
namespace {

constexpr auto kAliases = std::to_array<Alias>({
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
    {"use_wandb", "", "kedge always tracks, into the run folder; no account is needed"},
    {"wandb_mode", "", "kedge always writes locally first"},
    {"checkpoint_path", "", "checkpoints are kept in the run folder, under checkpoints/"},
    {"upload_checkpoint", "", "checkpoints stay in the run folder"},
});

constexpr auto kImplied = std::to_array<Implied>({
    {"optimizer.name", "adam"},
    {"schedule.unit", "epoch"},
    {"schedule.step_size", "10"},
    {"schedule.gamma", "0.1"},
    {"data.val_ratio", "0.2"},
    {"model.stem", "imagenet"},
    {"transform.train", "[flip, random_crop 32 4, resize 224]"},
    {"transform.eval", "[resize 224]"},
    {"transform.mean", "[0.485, 0.456, 0.406]"},
    {"transform.std", "[0.229, 0.224, 0.225]"},
});

}  // namespace

std::span<const Alias> aliases() {
  return kAliases;
}

const Alias* find_alias(std::string_view name) {
  const auto found = std::ranges::find(kAliases, name, &Alias::name);
  return found == kAliases.end() ? nullptr : &*found;
}

std::string translate_alias_value(std::string_view name, const std::string& value) {
  if (name == "resume") {
    return value == "true" ? "auto" : value == "false" ? "never" : value;
  }
  if (name == "simulate_crash") {
    return value == "true" ? "random" : value == "false" ? "never" : value;
  }
  if (name == "mixed_precision" && value == "none") {
    return "fp32";
  }
  return value;
}

std::span<const Implied> implied_by_aliases() {
  return kImplied;
}

}  // namespace kedge::config
