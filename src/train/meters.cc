#include "train/meters.h"

#include <algorithm>

#include <torch/types.h>
#include <torch/utils.h>

namespace kedge::train {

Meters::Meters(const device::ContextPtr& context, std::int64_t own)
    : sums_(
          torch::zeros({2 + own}, torch::TensorOptions(torch::kFloat64).device(context->device))) {}

void Meters::reset() {
  sums_.zero_();  // in place: a captured step adds to this very tensor
  if (aux_.defined()) {
    aux_.zero_();
  }
}

void Meters::expect_aux_loss() {
  aux_ = torch::zeros({2}, sums_.options());
}

void Meters::add_aux_loss(const at::Tensor& loss) {
  const torch::NoGradGuard no_grad;
  aux_[0].add_(loss.detach().to(at::kDouble));
  aux_[1].add_(1);
}

nn::NamedTensors Meters::state() const {
  nn::NamedTensors state = {{"sums", sums_}};
  if (aux_.defined()) {
    state.emplace_back("aux", aux_);
  }
  return state;
}

void Meters::add(const at::Tensor& loss, const at::Tensor& scores, const Inputs& inputs) {
  const torch::NoGradGuard no_grad;
  if (inputs.counted.defined()) {
    sums_[0].add_(loss.detach().to(at::kDouble) * inputs.counted);
    sums_[1].add_(inputs.counted);
  } else if (add_fused(loss, scores, inputs.y, sums_)) {
    return;
  } else {
    const auto count = static_cast<double>(inputs.y.numel());
    sums_[0].add_(loss.detach().to(at::kDouble), count);
    sums_[1].add_(count);
  }
  add_own(scores, inputs.y, sums_.slice(0, 2));
}

Metrics Meters::read(const std::string& prefix, dist::ProcessGroup& group) {
  // A copy: what this rank has counted is still its own, and may be saved as such.
  at::Tensor all = group.is_alone() ? sums_ : sums_.clone();
  group.all_reduce_sum(all);
  const at::Tensor sums = all.cpu();
  const auto* value = sums.data_ptr<double>();
  const double count = std::max(value[1], 1.0);
  Means means{.loss = value[0] / count};
  for (std::int64_t i = 2; i < sums.numel(); ++i) {
    means.own.push_back(value[i] / count);
  }
  Metrics metrics{{prefix + "loss", means.loss}};
  if (aux_.defined()) {
    at::Tensor aux = group.is_alone() ? aux_ : aux_.clone();
    group.all_reduce_sum(aux);
    const at::Tensor read = aux.cpu();
    metrics[prefix + "aux_loss"] = read[0].item<double>() / std::max(read[1].item<double>(), 1.0);
  }
  read_own(means, prefix, metrics);
  return metrics;
}

void Meters::move_to_first(dist::ProcessGroup& group) {
  for (at::Tensor* sums : {&sums_, &aux_}) {
    if (sums->defined()) {
      group.all_reduce_sum(*sums);
      if (!group.is_first()) {
        sums->zero_();
      }
    }
  }
}

}  // namespace kedge::train
