#include "nn/weights.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "nn/internal/fused_experts.h"
#include "nn/internal/shape.h"
#include "nn/internal/weight_names.h"
#include "nn/lora.h"
#include "nn/quantized_weight.h"
#include "nn/tensor_view.h"

namespace kedge::nn {
namespace {

using checkpoint::TensorView;

constexpr std::size_t kNamesInErrors = 3;

std::string first_names(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kNamesInErrors);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<long>(shown), ", "));
  if (names.size() > shown) {
    text += fmt::format(" and {} more", names.size() - shown);
  }
  return text;
}

// One copy to be made: nothing is copied before every tensor has been looked at.
struct Copy {
  at::Tensor target;
  const TensorView* source = nullptr;
  QuantizedWeight* packed = nullptr;  // what keeps the values instead, or null
  bool is_transposed = false;
};

class Plan {
 public:
  Plan(Model& model, const checkpoint::TensorFile& file, std::string file_name,
       const std::set<std::string>& present)
      : names_(model.names()),
        file_(file),
        file_name_(std::move(file_name)),
        present_(present),
        packed_(quantized_weights(model)) {
    targets_ = model.parameters();
    const NamedTensors buffers = model.buffers();
    targets_.insert(targets_.end(), buffers.begin(), buffers.end());
    std::vector<std::string> model_names;
    std::vector<std::string> file_names;
    std::map<std::string, const TensorView*> views;
    for (const auto& [name, tensor] : targets_) {
      model_names.push_back(name);
    }
    views_ = experts_apart(file.tensors(), model_names);
    for (const TensorView& view : views_) {
      file_names.push_back(view.name);
      views.emplace(view.name, &view);
    }
    for (const auto& [model_name, name] : match_names(model_names, file_names)) {
      sources_.emplace(model_name, views.at(name));
    }
    find_unused(file_names);
    find_transposed();
  }

  Result<WeightsReport> run() {
    if (sources_.empty()) {
      return fail(ErrorKind::Usage,
                  fmt::format("{} has no tensor of this model; it begins with {}", file_name_,
                              first_names(report_.unused)),
                  "is it for another model.name?");
    }
    const bool is_head_new = head_is_new();
    std::vector<Copy> copies;
    std::vector<std::string> missing;
    for (const auto& [name, tensor] : targets_) {
      if (is_head_new && names_.is_head(name) && !present_.contains(name)) {
        report_.new_head.push_back(name);
      } else if (const auto found = sources_.find(name); found != sources_.end()) {
        copies.push_back(KEDGE_TRY(plan_copy(name, tensor, *found->second)));
      } else if (!name.ends_with("num_batches_tracked") &&  // absent before PyTorch 0.4.1
                 !is_adapter_name(name) && !present_.contains(name)) {
        missing.push_back(name);
      }
    }
    if (!missing.empty()) {
      return fail(ErrorKind::Usage,
                  fmt::format("{} lacks {} of the model's {} tensors: {}", file_name_,
                              missing.size(), targets_.size(), first_names(missing)),
                  "is it for another model.name, or other model options?");
    }
    copy_all(copies);
    report_.loaded = static_cast<std::int64_t>(copies.size());
    return report_;
  }

 private:
  void find_unused(const std::vector<std::string>& file_names) {
    std::set<std::string> used;
    for (const auto& [name, view] : sources_) {
      used.insert(view->name);
    }
    for (const std::string& name : file_names) {
      if (!used.contains(name) && !matches_any(names_.repeated, name)) {
        report_.unused.push_back(name);
      }
    }
  }

  // Square weights look the same either way, so one that is not square decides for all.
  void find_transposed() {
    for (const auto& [name, tensor] : targets_) {
      const auto found = sources_.find(name);
      if (matches_any(names_.transposed, name) && found != sources_.end() && tensor.dim() == 2 &&
          tensor.size(0) != tensor.size(1) &&
          tensor.t().sizes() == at::IntArrayRef(found->second->shape)) {
        is_file_transposed_ = true;
      }
    }
  }

  bool head_is_new() const {
    bool is_any_present = false;
    bool is_any_other_size = false;
    for (const auto& [name, tensor] : targets_) {
      if (!names_.is_head(name)) {
        continue;
      }
      if (const auto found = sources_.find(name); found != sources_.end()) {
        is_any_present = true;
        is_any_other_size |= tensor.sizes() != at::IntArrayRef(found->second->shape);
      }
    }
    return !is_any_present || is_any_other_size;
  }

  Result<Copy> plan_copy(const std::string& name, const at::Tensor& tensor,
                         const TensorView& view) const {
    Copy copy{.target = tensor, .source = &view};
    if (const auto packed = packed_.find(name); packed != packed_.end()) {
      copy.packed = packed->second;
    }
    copy.is_transposed =
        is_file_transposed_ && matches_any(names_.transposed, name) && view.shape.size() == 2;
    std::vector<std::int64_t> shape = view.shape;
    if (copy.is_transposed) {
      std::swap(shape[0], shape[1]);
    }
    const bool has_spare_rows = matches_any(names_.longer, name) && shape.size() == 2 &&
                                shape[0] > tensor.size(0) && shape[1] == tensor.size(1);
    if (tensor.sizes() != at::IntArrayRef(shape) && !has_spare_rows) {
      return fail(ErrorKind::Usage,
                  fmt::format("{}: {} has shape {}, the model's {} has {}", file_name_, view.name,
                              shape_text(view.shape), name, shape_text(tensor.sizes())),
                  "is it for another model.name, or other model options?");
    }
    return copy;
  }

  void copy_all(const std::vector<Copy>& copies) const {
    const torch::NoGradGuard no_grad;
    std::vector<std::uint8_t> room;
    for (const Copy& copy : copies) {
      at::Tensor source = over_bytes(*copy.source, file_.bytes_of(*copy.source, room));
      if (copy.is_transposed) {
        source = source.t();
      }
      if (source.dim() > 0 && source.size(0) > copy.target.size(0)) {
        source = source.narrow(0, 0, copy.target.size(0));
      }
      if (copy.packed != nullptr) {
        copy.packed->store(source);
      } else {
        copy.target.copy_(source);
      }
    }
  }

  const WeightNames& names_;
  const checkpoint::TensorFile& file_;
  std::string file_name_;
  const std::set<std::string>& present_;
  std::map<std::string, QuantizedWeight*> packed_;
  std::vector<TensorView> views_;  // of the file
  NamedTensors targets_;
  std::map<std::string, const TensorView*> sources_;  // by model name
  bool is_file_transposed_ = false;
  WeightsReport report_;
};

}  // namespace

Result<WeightsReport> load_weights(Model& model, const Path& file,
                                   const std::set<std::string>& present) {
  const auto tensors = KEDGE_TRY(checkpoint::open_tensors(file));
  return Plan(model, *tensors, file.string(), present).run();
}

bool is_transposed_in_files(const Model& model, std::string_view name) {
  return matches_any(model.names().transposed, name);
}

Result<BaseWeights> name_base(const Path& file) {
  const auto tensors = KEDGE_TRY(checkpoint::open_tensors(file));
  return BaseWeights{.path = std::filesystem::absolute(file).lexically_normal().string(),
                     .digest = checkpoint::digest_of(*tensors)};
}

Result<std::int64_t> freeze(Model& model, const std::vector<std::string>& patterns) {
  const NamedTensors parameters = model.parameters();
  std::set<std::string> frozen;
  for (const std::string& pattern : patterns) {
    std::size_t matched = 0;
    for (const auto& [name, tensor] : parameters) {
      if (matches_pattern(pattern, name)) {
        frozen.insert(name);
        ++matched;
      }
    }
    if (matched == 0) {
      return fail(
          ErrorKind::Usage, fmt::format("model.freeze: '{}' matches no parameter", pattern),
          fmt::format("parameters are named like {}; * and ? are wild", parameters.front().first));
    }
  }
  for (const auto& [name, tensor] : parameters) {
    if (frozen.contains(name)) {
      tensor.requires_grad_(false);
    }
  }
  return static_cast<std::int64_t>(frozen.size());
}

std::int64_t freeze_all_but_head(Model& model) {
  std::int64_t count = 0;
  for (const auto& [name, tensor] : model.parameters()) {
    if (!model.names().is_head(name)) {
      tensor.requires_grad_(false);
      ++count;
    }
  }
  return count;
}

Result<void> freeze_all_but_adapters(const Model& model) {
  bool has_adapters = false;
  for (const auto& [name, tensor] : model.parameters()) {
    tensor.requires_grad_(is_adapter_name(name));
    has_adapters |= is_adapter_name(name);
  }
  if (!has_adapters) {
    return fail(ErrorKind::Usage, "model.lora: no linear layer of this model is a target",
                "name them in model.lora.targets: q_proj, v_proj, ...");
  }
  return {};
}

Result<WeightsReport> apply_weights(Model& model, const config::ModelConfig& config) {
  if (config.finetune && config.weights.empty()) {
    return fail(ErrorKind::Usage, "model.finetune is true, but model.weights names no file",
                "set model.weights to a .safetensors or .pt file of pretrained weights, or "
                "model.finetune=false to train the whole network from the start");
  }
  WeightsReport report;
  if (!config.weights.empty()) {
    report = KEDGE_TRY(load_weights(model, config.weights));
  }
  if (!config.lora.adapter.empty()) {
    KEDGE_TRY(load_adapter(model, config.lora.adapter));
  }
  if (config.lora.is_on()) {
    KEDGE_TRY(freeze_all_but_adapters(model));
  }
  if (config.finetune) {
    freeze_all_but_head(model);
  }
  KEDGE_TRY(freeze(model, config.freeze));
  return report;
}

}  // namespace kedge::nn
