// A model in a checkpoint, whole: its weights, how it was configured and how inputs are prepared.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "config/load.h"
#include "core/file.h"
#include "core/result.h"
#include "nn/model.h"
#include "nn/weights.h"
#include "train/preparation.h"

namespace kedge::train {

// Tensors as the checkpoint room wants them: on the host, contiguous. The parts that it gives point
// into it, so it must outlive their writing. Waits for the device.
class HostCopies {
 public:
  checkpoint::Part part(std::string name, const nn::NamedTensors& tensors);

 private:
  std::vector<at::Tensor> kept_;
};

// The live tensors, parameters first: what a checkpoint's part "model" holds.
nn::NamedTensors parameters_and_buffers(const nn::Model& model);

// `path` if it is a checkpoint folder; of a run folder its best checkpoint, else its last. NotFound
// where there is none; only manifests are read.
Result<Path> find_checkpoint(const Path& path);

// The weights of a checkpoint that are to be used: the averaged ones where there are any, because
// those were validated.
Path weights_of(const Path& checkpoint);

// What a checkpoint's state says of weights that it names instead of keeping: "base".
nlohmann::json to_json(const nn::BaseWeights& base);
Result<std::optional<nn::BaseWeights>> read_base(const nlohmann::json& state);

// Usage: the training that the state is of stands on other weights.
Result<void> check_base(const nlohmann::json& state, const std::optional<nn::BaseWeights>& base);

struct SavedModel {
  config::LoadedConfig config;
  Preparation preparation;
  std::unique_ptr<nn::Model> model;
  nlohmann::json state;
  Path path;  // the checkpoint's folder
};

// `path` is a checkpoint folder, or a run folder: then its best checkpoint, else its last.
// `overrides` change the config it was saved with (data.path=..., train.device=cpu; model.file or
// model.weights where the weights that it stands on have moved). Every byte is compared with its
// hash first. The model is on the CPU, in evaluation mode, and the caller's alone. Corrupt:
// damaged, or no model of kedge's; Usage: an override does not go with it, or the weights that it
// stands on are others; NotFound: they are not there.
Result<SavedModel> load_saved_model(const Path& path, const std::vector<std::string>& overrides);

}  // namespace kedge::train
