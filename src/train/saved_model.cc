#include "train/saved_model.h"

#include <filesystem>

#include <fmt/format.h>
#include <torch/types.h>

#include "checkpoint/library.h"
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
  saved.model = KEDGE_TRY(nn::make_model(saved.config->model, saved.preparation.signature));
  KEDGE_TRY(nn::load_weights(*saved.model, weights_of(saved.path)));
  saved.model->set_training(false);
  return saved;
}

}  // namespace kedge::train
