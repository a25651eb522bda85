#include "train/optimizers/foreach_optimizer.h"

#include <utility>

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

namespace kedge::train {

ForeachOptimizer::ForeachOptimizer(const ParameterGroups& groups, StateLayout layout)
    : layout_(std::move(layout)) {
  const torch::NoGradGuard no_grad;
  std::int64_t count = 0;
  for (const ParameterGroup& group : groups) {
    const std::size_t first = buckets_.size();
    for (const auto& [name, parameter] : group.parameters) {
      Bucket& bucket = find_bucket(first, group, parameter);
      bucket.parameters.emplace_back(name, parameter);
      for (std::size_t i = 0; i < layout_.names.size(); ++i) {
        bucket.state[i].push_back(layout_.make ? layout_.make(layout_.names[i], parameter)
                                               : at::zeros_like(parameter));
      }
      ++count;
    }
  }
  if (layout_.step_count == StepCount::None || count == 0) {
    return;
  }
  const at::Device device = layout_.step_count == StepCount::Host
                                ? at::Device(at::kCPU)
                                : buckets_.front().parameters.front().second.device();
  step_ = at::zeros({count}, at::TensorOptions().dtype(at::kFloat).device(device));
  std::int64_t next = 0;
  for (Bucket& bucket : buckets_) {
    for (std::size_t i = 0; i < bucket.parameters.size(); ++i) {
      bucket.steps.push_back(step_[next++]);
    }
  }
}

ForeachOptimizer::Bucket& ForeachOptimizer::find_bucket(std::size_t first,
                                                        const ParameterGroup& group,
                                                        const at::Tensor& parameter) {
  for (std::size_t i = first; i < buckets_.size(); ++i) {
    if (buckets_[i].parameters.front().second.scalar_type() == parameter.scalar_type()) {
      return buckets_[i];
    }
  }
  buckets_.push_back({.weight_decay = group.weight_decay,
                      .parameters = {},
                      .state = std::vector<std::vector<at::Tensor>>(layout_.names.size()),
                      .steps = {}});
  return buckets_.back();
}

UpdateLists ForeachOptimizer::gather(const Bucket& bucket) const {
  UpdateLists lists{.weight_decay = bucket.weight_decay,
                    .parameters = {},
                    .gradients = {},
                    .state = std::vector<std::vector<at::Tensor>>(bucket.state.size()),
                    .steps = {}};
  lists.parameters.reserve(bucket.parameters.size());
  lists.gradients.reserve(bucket.parameters.size());
  for (std::size_t i = 0; i < bucket.parameters.size(); ++i) {
    const at::Tensor& parameter = bucket.parameters[i].second;
    const at::Tensor& gradient = parameter.grad();
    if (!gradient.defined()) {
      continue;
    }
    lists.parameters.push_back(parameter);
    // The fused kernels walk raw memory, so both must be laid out alike. Autograd sees to it;
    // gradients that come from elsewhere may differ.
    lists.gradients.push_back(gradient.strides() == parameter.strides()
                                  ? gradient
                                  : at::empty_like(parameter).copy_(gradient));
    for (std::size_t slot = 0; slot < bucket.state.size(); ++slot) {
      lists.state[slot].push_back(bucket.state[slot][i]);
    }
    if (!bucket.steps.empty()) {
      lists.steps.push_back(bucket.steps[i]);
    }
  }
  return lists;
}

void ForeachOptimizer::step(const Rate& rate) {
  const torch::NoGradGuard no_grad;
  for (const Bucket& bucket : buckets_) {
    UpdateLists lists = gather(bucket);
    if (lists.parameters.empty()) {
      continue;
    }
    if (!lists.steps.empty()) {
      at::_foreach_add_(lists.steps, 1);
    }
    update(lists, rate);
    if (!lists.steps.empty() && rate.found_inf) {
      // A step that changed nothing does not count.
      at::_foreach_sub_(lists.steps, std::vector<at::Tensor>(lists.steps.size(), *rate.found_inf));
    }
  }
}

nn::NamedTensors ForeachOptimizer::state() {
  nn::NamedTensors all;
  if (step_.defined()) {
    all.emplace_back("step", step_);
  }
  for (std::size_t slot = 0; slot < layout_.names.size(); ++slot) {
    for (const Bucket& bucket : buckets_) {
      for (std::size_t i = 0; i < bucket.parameters.size(); ++i) {
        if (const at::Tensor& tensor = bucket.state[slot][i]; tensor.defined()) {
          all.emplace_back(layout_.names[slot] + "." + bucket.parameters[i].first, tensor);
        }
      }
    }
  }
  return all;
}

void descend(const std::vector<at::Tensor>& parameters, const std::vector<at::Tensor>& updates,
             const Rate& rate) {
  if (rate.on_device.defined()) {
    at::_foreach_sub_(parameters, at::_foreach_mul(updates, rate.on_device));
  } else {
    at::_foreach_add_(parameters, updates, -rate.value);
  }
}

void descend_by_ratio(const UpdateLists& lists, const std::vector<at::Tensor>& divisors,
                      const Rate& rate) {
  if (rate.on_device.defined()) {
    descend(lists.parameters, at::_foreach_div(lists.gradients, divisors), rate);
  } else {
    at::_foreach_addcdiv_(lists.parameters, lists.gradients, divisors, -rate.value);
  }
}

void decay(const UpdateLists& lists, const Rate& rate) {
  if (lists.weight_decay == 0) {
    return;
  }
  if (rate.on_device.defined()) {
    at::_foreach_mul_(lists.parameters, 1 - rate.on_device * lists.weight_decay);
  } else {
    at::_foreach_mul_(lists.parameters, 1 - rate.value * lists.weight_decay);
  }
}

Result<void> check_below_one(double rate, std::string_view key) {
  if (rate >= 1) {
    return fail(ErrorKind::Usage, fmt::format("optimizer.{} is {}", key, rate),
                "it must be below 1");
  }
  return {};
}

}  // namespace kedge::train
