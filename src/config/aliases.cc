#include "config/aliases.h"

#include <array>

namespace kedge::config {
namespace {

constexpr auto kNotedKeys = std::to_array<NotedKey>({
    {"use_wandb", "kedge always tracks, into the run folder; no account is needed"},
    {"wandb_mode", "kedge always writes locally first"},
    {"checkpoint_path", "checkpoints are kept in the run folder, under checkpoints/"},
    {"upload_checkpoint", "checkpoints stay in the run folder"},
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

std::span<const NotedKey> noted_keys() {
  return kNotedKeys;
}

std::span<const Implied> implied_by_aliases() {
  return kImplied;
}

}  // namespace kedge::config
