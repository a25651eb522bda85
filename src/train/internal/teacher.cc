#include "train/internal/teacher.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "nn/pretrained.h"
#include "nn/weights.h"
#include "train/saved_model.h"

namespace kedge::train {
namespace {

struct Found {
  std::unique_ptr<nn::Model> model;
  nn::Signature signature;
};

Error differs(const config::Config& config, std::string_view what) {
  return {ErrorKind::Usage, fmt::format("distill.teacher: {} {}", config.distill.teacher, what),
          "a teacher scores what the model scores, of inputs that are prepared the same"};
}

// A run or checkpoint of kedge's.
Result<Found> load_run(const config::Config& config, const Preparation& preparation) {
  SavedModel saved = KEDGE_TRY(load_saved_model(config.distill.teacher, {}));
  const Preparation& its = saved.preparation;
  if (its.task_name != preparation.task_name) {
    return std::unexpected(differs(config, fmt::format("was trained for {}", its.task_name)));
  }
  if (its.normalise.mean != preparation.normalise.mean ||
      its.normalise.std != preparation.normalise.std) {
    return std::unexpected(differs(config, "normalises its images by another mean and deviation"));
  }
  if (its.class_names != preparation.class_names) {
    return std::unexpected(differs(config, "knows other classes, or in another order"));
  }
  return Found{.model = std::move(saved.model), .signature = its.signature};
}

// A model of others, for inputs and scores of the size that is trained.
Result<Found> load_foreign(const config::Config& config, const Preparation& preparation,
                           const device::ContextPtr& context) {
  config::ModelConfig chosen;
  chosen.file = config.distill.teacher;
  Found found{.model = nullptr, .signature = preparation.signature};
  found.signature.vocab = KEDGE_TRY(nn::find_vocab(chosen)).value_or(found.signature.vocab);
  found.model = KEDGE_TRY(nn::make_model(chosen, found.signature, {.context = context}));
  if (nn::is_pretrained(chosen.file)) {
    KEDGE_TRY(nn::load_weights(*found.model, chosen.file));
  }
  return found;
}

Result<void> check_signature(const config::Config& config, const nn::Signature& wanted,
                             const nn::Signature& its) {
  if (its.classes != wanted.classes || its.vocab != wanted.vocab) {
    const bool has_classes = wanted.classes > 0;
    return std::unexpected(differs(
        config, fmt::format("scores {} {}, the model {}", has_classes ? its.classes : its.vocab,
                            has_classes ? "classes" : "tokens",
                            has_classes ? wanted.classes : wanted.vocab)));
  }
  if (its.height != wanted.height || its.width != wanted.width || its.channels != wanted.channels) {
    return std::unexpected(differs(
        config,
        fmt::format("takes images of {}x{}x{}, the model of {}x{}x{}", its.width, its.height,
                    its.channels, wanted.width, wanted.height, wanted.channels)));
  }
  if (its.context < wanted.context) {
    return std::unexpected(differs(
        config, fmt::format("takes {} tokens, samples have {}", its.context, wanted.context)));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Teacher>> Teacher::load(const config::Config& config,
                                               const Preparation& preparation,
                                               const device::ContextPtr& context) {
  const Path path = config.distill.teacher;
  if (path.empty()) {
    return nullptr;
  }
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return fail(ErrorKind::NotFound, fmt::format("distill.teacher: {} is not there", path.string()),
                "name a run or checkpoint folder, a folder of Hugging Face's, or a file");
  }
  const bool is_run = std::filesystem::is_directory(path, ignored) && !nn::is_pretrained(path);
  Found found = KEDGE_TRY(is_run ? load_run(config, preparation)
                                 : load_foreign(config, preparation, context));
  KEDGE_TRY(check_signature(config, preparation.signature, found.signature));
  found.model->set_training(false);
  found.model->to(context->device);
  if (context->precision == config::Precision::Bf16 ||
      context->precision == config::Precision::Bf16Pure) {
    found.model->to(at::kBFloat16);
  } else if (context->precision == config::Precision::Fp64) {
    found.model->to(at::kDouble);
  }
  for (const auto& [name, tensor] : found.model->parameters()) {
    tensor.requires_grad_(false);
  }
  return std::make_unique<Teacher>(std::move(found.model), config.distill);
}

at::Tensor softened_scores(const at::Tensor& scores, double temperature) {
  const at::ScalarType type = scores.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return torch::log_softmax(scores.reshape({-1, scores.size(-1)}).to(type) / temperature, -1);
}

namespace {

at::Tensor divergence(const at::Tensor& own, const at::Tensor& wanted) {
  return torch::kl_div(own, wanted, at::Reduction::None, /*log_target=*/true).sum(-1);
}

at::Tensor mixed(const config::DistillConfig& config, const at::Tensor& loss,
                 const at::Tensor& distances, const Inputs& inputs) {
  const at::Tensor counts = inputs.y.reshape({-1}).ge(0);
  const at::Tensor distance = torch::where(counts, distances, 0.0).sum() / counts.sum();
  return loss * (1 - config.weight) +
         distance * (config.weight * config.temperature * config.temperature);
}

}  // namespace

at::Tensor mix_with_stored(const config::DistillConfig& config, const at::Tensor& loss,
                           const at::Tensor& scores, const Inputs& inputs) {
  const at::Tensor own = softened_scores(scores, config.temperature);
  const at::Tensor stored =
      inputs.teacher_scores.view(at::kHalf).reshape({own.size(0), -1}).to(own.scalar_type());
  const at::Tensor kept = stored.narrow(1, 0, stored.size(1) - 1);
  if (!inputs.teacher_ids.defined()) {
    return mixed(config, loss, divergence(own, kept), inputs);
  }
  const at::Tensor ids = inputs.teacher_ids.reshape(kept.sizes()).to(at::kLong);
  const at::Tensor own_kept = own.gather(1, ids);
  constexpr double kBelowOne = 1 - 1e-6;  // so that the logarithm of the others has a gradient
  const at::Tensor own_rest =
      torch::log1p(-own_kept.exp().sum(-1, /*keepdim=*/true).clamp_max(kBelowOne));
  const at::Tensor wanted_rest = stored.narrow(1, stored.size(1) - 1, 1);
  return mixed(config, loss, divergence(own_kept, kept) + divergence(own_rest, wanted_rest),
               inputs);
}

at::Tensor Teacher::mix(const at::Tensor& loss, const at::Tensor& scores, const Inputs& inputs) {
  at::Tensor wanted;
  {
    const torch::NoGradGuard no_grad;
    wanted = softened_scores(model_->forward(inputs.input()), config_.temperature);
  }
  return mixed(config_, loss, divergence(softened_scores(scores, config_.temperature), wanted),
               inputs);
}

}  // namespace kedge::train
