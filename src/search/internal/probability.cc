#include "search/internal/probability.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/random.h"

namespace kedge::search {
namespace {

// Lentz's continued fraction of the incomplete beta function (Abramowitz & Stegun 26.5.8).
double beta_fraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300;
  constexpr int kTermsMax = 500;
  const auto keep_off_zero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1;
  double d = 1 / keep_off_zero(1 - (a + b) * x / (a + 1));
  double value = d;
  for (int m = 1; m <= kTermsMax; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / keep_off_zero(1 + even * d);
    c = keep_off_zero(1 + even / c);
    value *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / keep_off_zero(1 + odd * d);
    c = keep_off_zero(1 + odd / c);
    value *= d * c;
    if (std::abs(d * c - 1) < 1e-15) {
      break;
    }
  }
  return value;
}

// A first guess good to 4e-4 (Abramowitz & Stegun 26.2.23), for p <= 0.5.
double rough_quantile(double p) {
  const double t = std::sqrt(-2 * std::log(p));
  return -(t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                   (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
}

}  // namespace

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

double normal_pdf(double x) {
  return std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
}

double normal_quantile(double p) {
  if (p <= 0 || p >= 1) {
    const double infinity = std::numeric_limits<double>::infinity();
    return p <= 0 ? -infinity : infinity;
  }
  const bool is_upper = p > 0.5;
  const double tail = is_upper ? 1 - p : p;
  double x = rough_quantile(tail);
  // Halley's step triples the correct digits each time.
  for (int i = 0; i < 3; ++i) {
    const double error = (normal_cdf(x) - tail) / normal_pdf(x);
    x -= error / (1 + 0.5 * x * error);
  }
  return is_upper ? -x : x;
}

double draw_normal(Random& random) {
  return normal_quantile(std::max(random.uniform(), 0x1.0p-54));
}

double beta_cdf(double x, double a, double b) {
  if (x <= 0) {
    return 0;
  }
  if (x >= 1) {
    return 1;
  }
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(x, a, b) / a
                                   : 1 - front * beta_fraction(1 - x, b, a) / b;
}

double beta_quantile(double p, double a, double b) {
  double low = 0;
  double high = 1;
  for (int i = 0; i < 200 && high - low > 1e-16 * high; ++i) {
    const double middle = 0.5 * (low + high);
    (beta_cdf(middle, a, b) < p ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

double student_t_cdf(double t, double degrees) {
  const double tail = 0.5 * beta_cdf(degrees / (degrees + t * t), 0.5 * degrees, 0.5);
  return t < 0 ? tail : 1 - tail;
}

double student_t_quantile(double p, double degrees) {
  if (p == 0.5) {
    return 0;
  }
  const double tail = p < 0.5 ? p : 1 - p;
  const double x = beta_quantile(2 * tail, 0.5 * degrees, 0.5);
  const double t = std::sqrt(degrees * (1 - x) / x);
  return p < 0.5 ? -t : t;
}

}  // namespace kedge::search
