#include "train/internal/first_weights.h"

#include <filesystem>

#include "core/log.h"
#include "nn/pretrained.h"
#include "train/saved_model.h"

namespace kedge::train {

Result<config::ModelConfig> find_first_weights(const config::Config& config, bool is_first) {
  config::ModelConfig start = config.model;
  if (start.weights.empty() && !start.file.empty() && nn::is_pretrained(start.file)) {
    if (nn::has_weights(start.file)) {
      start.weights = start.file;
    } else if (is_first) {
      warn("{} has no weights: training begins with random ones", start.file);
    }
  }
  if (std::filesystem::is_directory(start.weights) && !nn::is_pretrained(start.weights)) {
    start.weights = weights_of(KEDGE_TRY(find_checkpoint(start.weights))).string();
  }
  return start;
}

}  // namespace kedge::train
