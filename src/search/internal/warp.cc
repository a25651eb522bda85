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

void standardise(Warped& warped) {
  const Moments moments = moments_of(warped.losses);
  for (double& loss : warped.losses) {
    loss = moments.deviation > 0 ? (loss - moments.mean) / moments.deviation : 0;
  }
  for (double& slope : warped.log_slopes) {
    slope -= moments.deviation > 0 ? std::log(moments.deviation) : 0;
  }
}

// One run that diverged must not make all the good ones look alike.
Warped squash(const std::vector<double>& losses, double knee) {
  std::vector<double> sorted = losses;
  std::ranges::sort(sorted);
  const double best = sorted.front();
  const auto first = static_cast<std::ptrdiff_t>(static_cast<double>(sorted.size() - 1) * knee);
  const auto middle = std::ranges::find_if(sorted.begin() + first, sorted.end(),
                                           [&](double loss) { return loss > best; });
  if (middle == sorted.end()) {
    return {losses, std::vector<double>(losses.size(), 0.0)};  // all are alike
  }
  const double reach = *middle - best;
  Warped warped;
  for (const double loss : losses) {
    const double distance = loss - best;
    warped.losses.push_back(distance > reach ? 1 + std::log(distance) - std::log(reach)
                                             : distance / reach);
    warped.log_slopes.push_back(-std::log(std::max(distance, reach)));
  }
  return warped;
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

Warped warp_losses(const std::vector<double>& losses, double knee) {
  Warped warped = squash(losses, knee);
  standardise(warped);
  // Golden section: the likelihood has one peak in the power.
  constexpr double kRatio = 0.6180339887498949;
  double low = -6;
  double high = 4;
  for (int i = 0; i < 30; ++i) {
    const double left = high - kRatio * (high - low);
    const double right = low + kRatio * (high - low);
    const bool is_right = likelihood(warped.losses, left) < likelihood(warped.losses, right);
    (is_right ? low : high) = is_right ? left : right;
  }
  const double power = 0.5 * (low + high);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    double& loss = warped.losses[i];
    warped.log_slopes[i] += (power - 1) * std::copysign(std::log1p(std::abs(loss)), loss);
    loss = yeo_johnson(loss, power);
  }
  standardise(warped);
  return warped;
}

}  // namespace kedge::search
