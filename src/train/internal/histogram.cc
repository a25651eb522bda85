#include "train/internal/histogram.h"

#include <cmath>
#include <vector>

#include <torch/types.h>
#include <torch/utils.h>

namespace kedge::train {

void log_histogram(track::Run& run, const std::string& key, std::int64_t step,
                   const at::Tensor& tensor) {
  const torch::NoGradGuard no_grad;
  constexpr std::int64_t kBins = 64;
  const at::Tensor values = tensor.detach().to(at::kFloat).flatten();
  const at::Tensor finite = values.masked_select(values.isfinite());
  if (finite.numel() == 0) {
    return;
  }
  const auto low = finite.min().item<double>();
  auto high = finite.max().item<double>();
  if (low == high) {
    high = std::nextafter(static_cast<float>(high), HUGE_VALF);  // a bin has a width
  }
  const at::Tensor counts = at::histc(finite, kBins, low, high).to(at::kCPU, at::kLong);
  std::vector<double> edges(kBins + 1);
  for (std::int64_t i = 0; i <= kBins; ++i) {
    edges[static_cast<std::size_t>(i)] =
        low + (high - low) * static_cast<double>(i) / static_cast<double>(kBins);
  }
  const auto* count = counts.data_ptr<std::int64_t>();
  run.log_histogram(key, step, edges, {count, static_cast<std::size_t>(kBins)});
}

}  // namespace kedge::train
