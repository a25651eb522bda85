#include "search/internal/warp.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace kedge::search {
namespace {

struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments moments_of(const std::vector<double>& values) {
  Moments moments;
  for (const double value : values) {
    moments.mean += value / static_cast<double>(values.size());
  }
  for (const double value : values) {
    moments.deviation +=
        (value - moments.mean) * (value - moments.mean) / static_cast<double>(values.size());
  }
  moments.deviation = std::sqrt(moments.deviation);
  return moments;
}

std::vector<double> standardise(std::vector<double> values) {
  const Moments moments = moments_of(values);
  for (double& value : values) {
    value = moments.deviation > 0 ? (value - moments.mean) / moments.deviation : 0;
  }
  return values;
}

// Losses beyond the median grow with the logarithm of their distance from the best: one run that
// diverged must not make all the good ones look alike.
std::vector<double> squash(std::vector<double> losses) {
  std::vector<double> sorted = losses;
  std::ranges::sort(sorted);
  const double best = sorted.front();
  const auto middle =
      std::ranges::find_if(sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2),
                           sorted.end(), [&](double loss) { return loss > best; });
  if (middle == sorted.end()) {
    return losses;  // all are alike
  }
  const double reach = *middle - best;
  for (double& loss : losses) {
    const double distance = loss - best;
    loss = distance > reach ? 1 + std::log(distance) - std::log(reach) : distance / reach;
  }
  return losses;
}

double likelihood(const std::vector<double>& values, double power) {
  std::vector<double> warped;
  double jacobian = 0;
  for (const double value : values) {
    warped.push_back(yeo_johnson(value, power));
    jacobian += std::copysign(std::log1p(std::abs(value)), value);
  }
  const double deviation = moments_of(warped).deviation;
  return -static_cast<double>(values.size()) * std::log(std::max(deviation, 1e-300)) +
         (power - 1) * jacobian;
}

}  // namespace

double yeo_johnson(double y, double power) {
  if (y >= 0) {
    return std::abs(power) < 1e-9 ? std::log1p(y) : (std::pow(y + 1, power) - 1) / power;
  }
  return std::abs(power - 2) < 1e-9 ? -std::log1p(-y)
                                    : -(std::pow(1 - y, 2 - power) - 1) / (2 - power);
}

std::vector<double> warp_losses(const std::vector<double>& losses) {
  std::vector<double> values = standardise(squash(losses));
  // Golden section: the likelihood has one peak in the power.
  constexpr double kRatio = 0.6180339887498949;
  double low = -6;
  double high = 4;
  for (int i = 0; i < 30; ++i) {
    const double left = high - kRatio * (high - low);
    const double right = low + kRatio * (high - low);
    (likelihood(values, left) < likelihood(values, right) ? low : high) =
        likelihood(values, left) < likelihood(values, right) ? left : right;
  }
  const double power = 0.5 * (low + high);
  for (double& value : values) {
    value = yeo_johnson(value, power);
  }
  return standardise(std::move(values));
}

}  // namespace kedge::search
