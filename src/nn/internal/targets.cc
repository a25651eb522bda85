#include "nn/internal/targets.h"

#include <fmt/format.h>
#include <torch/types.h>

namespace kedge::nn {

Rows as_rows(const at::Tensor& scores, const at::Tensor& targets) {
  if (scores.dim() == 2) {
    return {scores, targets};
  }
  return {scores.flatten(0, -2),
          targets.is_floating_point() ? targets.flatten(0, -2) : targets.flatten()};
}

Result<void> require_no_smoothing(std::string_view loss, const config::LossConfig& config) {
  if (config.label_smoothing != 0) {
    return fail(ErrorKind::Usage,
                fmt::format("loss.label_smoothing is {}, but the loss {} has none",
                            config.label_smoothing, loss),
                "set loss.name=cross_entropy, or loss.label_smoothing=0");
  }
  return {};
}

}  // namespace kedge::nn
