#include "train/internal/delayed_scalar.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>
#include <torch/utils.h>

namespace kedge::train {

void DelayedScalar::start(const at::Tensor& scalar, std::int64_t step) {
  const torch::NoGradGuard no_grad;
  step_ = step;
  if (!scalar.is_cuda()) {
    host_ = scalar.detach().to(at::kDouble);
    return;
  }
  if (!host_.defined()) {
    host_ = torch::empty({}, torch::TensorOptions(torch::kFloat64).pinned_memory(true));
  }
  host_.copy_(scalar.detach().to(at::kDouble), /*non_blocking=*/true);
  done_.emplace(scalar.device().type());
  done_->record(c10::impl::VirtualGuardImpl(scalar.device().type()).getStream(scalar.device()));
}

std::optional<DelayedScalar::Reading> DelayedScalar::take() {
  if (!step_) {
    return std::nullopt;
  }
  if (done_) {
    done_->synchronize();
  }
  const Reading reading{.step = *step_, .value = *host_.data_ptr<double>()};
  step_.reset();
  return reading;
}

}  // namespace kedge::train
