#include "train/optimizer.h"

#include <utility>

namespace kedge::train {

Rate Rate::times(double factor) const {
  Rate rate = *this;
  rate.value *= factor;
  if (on_device.defined()) {
    rate.on_device = on_device * factor;
  }
  return rate;
}

ParameterGroups group_parameters(const nn::Model& model, const config::OptimizerConfig& config) {
  const bool is_split = config.decay == config::DecayScope::Matrices && config.weight_decay != 0;
  ParameterGroup decayed{
      .parameters = {}, .weight_decay = config.weight_decay, .names = model.names()};
  ParameterGroup plain{.parameters = {}, .weight_decay = 0, .names = model.names()};
  for (auto& [name, tensor] : model.parameters()) {
    if (tensor.requires_grad()) {
      ParameterGroup& group = is_split && tensor.dim() < 2 ? plain : decayed;
      group.parameters.emplace_back(name, tensor);
    }
  }
  ParameterGroups groups;
  for (ParameterGroup* group : {&decayed, &plain}) {
    if (!group->parameters.empty()) {
      groups.push_back(std::move(*group));
    }
  }
  return groups;
}

Result<std::unique_ptr<Optimizer>> make_optimizer(const nn::Model& model,
                                                  const config::OptimizerConfig& config,
                                                  device::FusedOps* fused) {
  ParameterGroups groups = group_parameters(model, config);
  for (ParameterGroup& group : groups) {
    group.fused = fused;
  }
  if (groups.empty()) {
    return fail(ErrorKind::Usage, "the model has no trainable parameters",
                "model.freeze holds every parameter; leave at least the last layer out of it");
  }
  return Optimizers::make("optimizer", config.name, config, groups);
}

}  // namespace kedge::train
