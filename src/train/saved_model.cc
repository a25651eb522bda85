#include "train/saved_model.h"

#include <filesystem>

#include <fmt/format.h>
#include <torch/types.h>

#include "checkpoint/library.h"
#include "nn/pretrained.h"
#include "nn/tensor_view.h"
#include "nn/weights.h"

namespace kedge::train {

Result<Path> find_checkpoint(const Path& path) {
  if (std::filesystem::exists(path / "manifest.json")) {
    return path;
  }
  checkpoint::Listing listing;
  if (std::filesystem::is_directory(path / "checkpoints")) {
    listing = KEDGE_TRY(checkpoint::list_checkpoints({.durable = path / "checkpoints"}));
  }
  if (listing.entries.empty()) {
    return fail(ErrorKind::NotFound, fmt::format("no checkpoint in {}", path.string()),
                "name a run folder (runs/<project>/<id>) or a folder under its checkpoints/");
  }
  const checkpoint::Entry& newest = listing.entries.back();
  const auto* best = checkpoint::find_best(listing.entries, newest.more_is_better);
  return best != nullptr ? best->path : newest.path;
}

Path weights_of(const Path& checkpoint) {
  const Path averaged = checkpoint / "ema.safetensors";
  return std::filesystem::exists(averaged) ? averaged : checkpoint;
}

checkpoint::Part HostCopies::part(std::string name, const nn::NamedTensors& tensors) {
  checkpoint::Part part{.name = std::move(name), .tensors = {}};
  for (const auto& [tensor_name, tensor] : tensors) {
    kept_.push_back(tensor.detach().to(at::kCPU).contiguous());
    part.tensors.push_back(nn::to_view(tensor_name, kept_.back()));
  }
  return part;
}

nn::NamedTensors parameters_and_buffers(const nn::Model& model) {
  nn::NamedTensors all = model.parameters();
  for (auto& buffer : model.buffers()) {
    all.push_back(std::move(buffer));
  }
  return all;
}

nlohmann::json to_json(const nn::BaseWeights& base) {
  return {{"path", base.path},
          {"digest", base.digest},
          {"lora",
           {{"rank", base.lora.rank},
            {"alpha", base.lora.alpha},
            {"dropout", base.lora.dropout},
            {"targets", base.lora.targets},
            {"rslora", base.lora.rslora}}}};
}

Result<std::optional<nn::BaseWeights>> read_base(const nlohmann::json& state) {
  const auto found = state.find("base");
  if (found == state.end()) {
    return std::nullopt;
  }
  try {
    const nlohmann::json& lora = found->at("lora");
    return nn::BaseWeights{.path = found->at("path").get<std::string>(),
                           .digest = found->at("digest").get<std::string>(),
                           .lora = {.rank = lora.at("rank").get<std::int64_t>(),
                                    .alpha = lora.at("alpha").get<double>(),
                                    .dropout = lora.at("dropout").get<double>(),
                                    .targets = lora.at("targets").get<std::vector<std::string>>(),
                                    .rslora = lora.at("rslora").get<bool>()}};
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorKind::Corrupt,
                fmt::format("the checkpoint does not name its base: {}", error.what()));
  }
}

namespace {

std::unexpected<Error> other_base(const nn::BaseWeights& wanted, const nn::BaseWeights& found) {
  return fail(ErrorKind::Usage,
              fmt::format("the adapters were trained on the weights {} ({}), but {} holds {}",
                          wanted.path, wanted.digest, found.path, found.digest),
              "bring those weights back, and name them with model.file or model.weights");
}

}  // namespace

Result<void> check_base(const nlohmann::json& state, const std::optional<nn::BaseWeights>& base) {
  const auto wanted = KEDGE_TRY(read_base(state));
  if (wanted && base && wanted->digest != base->digest) {
    return other_base(*wanted, *base);
  }
  return {};
}

namespace {

// Where the weights are now: as they were in the training, or as an override names them.
Path find_base(const nn::BaseWeights& base, const config::ModelConfig& model) {
  for (const std::string& path : {base.path, model.weights, model.file}) {
    if (!path.empty() && std::filesystem::exists(path)) {
      return path;
    }
  }
  return base.path;
}

// The config's model, without need of the folder that its adapters began with; where its file is
// named by a path from another folder, the file that it was.
config::ModelConfig model_of(const config::Config& config,
                             const std::optional<nn::BaseWeights>& base) {
  config::ModelConfig model = config.model;
  if (base) {
    model.lora = base->lora;
  }
  if (base && !model.file.empty() && !std::filesystem::exists(model.file) &&
      nn::is_pretrained(base->path)) {
    model.file = base->path;
  }
  return model;
}

// Of a checkpoint that holds only what was trained.
Result<void> load_on_base(SavedModel& saved, const nn::BaseWeights& base) {
  const Path path = find_base(base, saved.config->model);
  if (!std::filesystem::exists(path)) {
    return fail(ErrorKind::NotFound,
                fmt::format("{} holds adapters of the weights {}, which are not there",
                            saved.path.string(), base.path),
                "say where they are: model.file=PATH, or model.weights=PATH");
  }
  const auto found = KEDGE_TRY(nn::name_base(path));
  if (found.digest != base.digest) {
    return other_base(base, found);
  }
  KEDGE_TRY(nn::load_weights(*saved.model, path));
  KEDGE_TRY(nn::freeze_all_but_adapters(*saved.model));
  KEDGE_TRY(nn::load_weights(*saved.model, weights_of(saved.path), nn::frozen_names(*saved.model)));
  return {};
}

}  // namespace

Result<SavedModel> load_saved_model(const Path& path, const std::vector<std::string>& overrides) {
  SavedModel saved;
  saved.path = KEDGE_TRY(find_checkpoint(path));
  const auto checkpoint = KEDGE_TRY(checkpoint::Checkpoint::open(saved.path));
  KEDGE_TRY(checkpoint.verify());
  saved.state = checkpoint.state();
  if (!saved.state.contains("config") || !saved.state["config"].is_string() ||
      !saved.state.contains("preparation")) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{} does not hold a kedge model", saved.path.string()));
  }
  saved.config = KEDGE_TRY(config::load_config(
      {.text = saved.state["config"].get<std::string>(), .overrides = overrides}));
  saved.preparation = KEDGE_TRY(Preparation::from_json(saved.state["preparation"]));
  const auto base = KEDGE_TRY(read_base(saved.state));
  saved.model =
      KEDGE_TRY(nn::make_model(model_of(*saved.config, base), saved.preparation.signature));
  if (base) {
    KEDGE_TRY(load_on_base(saved, *base));
  } else {
    KEDGE_TRY(nn::load_weights(*saved.model, weights_of(saved.path)));
  }
  saved.model->set_training(false);
  return saved;
}

}  // namespace kedge::train
