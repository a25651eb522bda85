#include "search/internal/gaussian_process.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "search/internal/lbfgs.h"

namespace kedge::search {
namespace {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kJitter = 1e-9;
constexpr double kVarianceMin = 1e-14;

// The rough part's lengths are this much shorter than the smooth part's.
constexpr double kRoughness = 5;

// A function of the squared distance, scaled by the lengths, and its derivative by that. Both hang
// on one exponential, which is what they cost.
struct Curve {
  ArrayXd value;
  ArrayXd slope;
};

Curve smooth(const ArrayXd& squares) {
  const ArrayXd r = (5 * squares).sqrt();
  const ArrayXd fall = (-r).exp();
  return {(1 + r + r.square() / 3) * fall, -(5.0 / 6.0) * (1 + r) * fall};
}

Curve rough(const ArrayXd& squares) {
  const ArrayXd r = kRoughness * (3 * squares).sqrt();
  const ArrayXd fall = (-r).exp();
  return {(1 + r) * fall, -1.5 * kRoughness * kRoughness * fall};
}

double squared_difference(double a, double b, bool is_choice) {
  if (is_choice) {
    return a == b ? 0 : 1;
  }
  return (a - b) * (a - b);
}

// The squared differences of all pairs, a row each and a column per axis. The pairs are those below
// the diagonal of a matrix, column after column.
MatrixXd pair_squares(const MatrixXd& x, const std::vector<bool>& is_choice) {
  const Index n = x.rows();
  MatrixXd squares(n * (n - 1) / 2, x.cols());
  for (Index j = 0; j < x.cols(); ++j) {
    Index pair = 0;
    for (Index b = 0; b < n; ++b) {
      for (Index a = b + 1; a < n; ++a) {
        squares(pair++, j) =
            squared_difference(x(a, j), x(b, j), is_choice[static_cast<std::size_t>(j)]);
      }
    }
  }
  return squares;
}

// The matrix whose pairs these are; what is above the diagonal is left alone.
void fill_lower(MatrixXd& matrix, const ArrayXd& pairs) {
  Index begin = 0;
  for (Index b = 0; b < matrix.cols(); ++b) {
    const Index count = matrix.rows() - b - 1;
    matrix.col(b).tail(count) = pairs.segment(begin, count);
    begin += count;
  }
}

ArrayXd read_lower(const MatrixXd& matrix) {
  ArrayXd pairs(matrix.rows() * (matrix.rows() - 1) / 2);
  Index begin = 0;
  for (Index b = 0; b < matrix.cols(); ++b) {
    const Index count = matrix.rows() - b - 1;
    pairs.segment(begin, count) = matrix.col(b).tail(count);
    begin += count;
  }
  return pairs;
}

// What the search for a shape moves: the logarithms of the lengths, and behind them these.
enum Place : std::uint8_t { kSmooth, kRough, kAdditive, kNoise, kRatio, kPlaces };

struct Prior {
  double center;
  double width;
};

// By Place. The ratio reaches down to lengths that see ten bumps along an axis.
constexpr std::array<Prior, kPlaces> kPriors = {
    {{0.5, 1.0}, {-3.0, 2.0}, {-2.0, 2.0}, {-9.0, 3.0}, {-2.0, 1.5}}};
constexpr Prior kLengthPrior = {-0.3, 1.2};  // its center grows with the dimension

// A bell over a logarithm: adds its part of the energy and of the gradient.
double add_prior(double at, const Prior& prior, double& gradient) {
  const double z = (at - prior.center) / prior.width;
  gradient += z / prior.width;
  return 0.5 * z * z;
}

// The kernel of all pairs, without the noise.
struct Covariances {
  ArrayXd smooth;
  ArrayXd rough;
  ArrayXd additive;
  ArrayXd joint_slope;       // of smooth and rough by the squared distance
  MatrixXd additive_slopes;  // of additive by the logarithm of the squared distance along each axis
};

// Minus the log posterior of the kernel's shape.
class Posterior {
 public:
  Posterior(const Samples& samples, const std::vector<bool>& is_choice)
      : y_(samples.y), squares_(pair_squares(samples.x, is_choice)) {}

  double operator()(const VectorXd& theta, VectorXd& gradient) const {
    const Index dimension = squares_.cols();
    const Index n = y_.size();
    const VectorXd inverse = (-2 * theta.head(dimension).array()).exp();
    const VectorXd sizes = theta.segment(dimension, kRatio).array().exp();
    const Covariances parts = compute(inverse, sizes, std::exp(-2 * theta[dimension + kRatio]));
    MatrixXd covariance(n, n);
    fill_lower(covariance, parts.smooth + parts.rough + parts.additive);
    covariance.diagonal().setConstant(sizes.sum() + kJitter);
    const Eigen::LLT<Eigen::Ref<MatrixXd>> cholesky(covariance);
    if (cholesky.info() != Eigen::Success) {
      return std::numeric_limits<double>::infinity();
    }
    const VectorXd alpha = cholesky.solve(y_);
    const MatrixXd root = cholesky.matrixL().solve(MatrixXd::Identity(n, n));
    MatrixXd inner = MatrixXd::Zero(n, n);  // K^-1 - aa', its lower half
    inner.selfadjointView<Eigen::Lower>().rankUpdate(root.transpose());
    inner.selfadjointView<Eigen::Lower>().rankUpdate(alpha, -1);
    double energy = 0.5 * y_.dot(alpha);
    energy += cholesky.matrixLLT().diagonal().array().log().sum();
    const ArrayXd pairs = read_lower(inner);  // each of them counts twice in a sum
    const VectorXd joint = squares_.transpose() * (pairs * parts.joint_slope).matrix();
    const VectorXd additive = parts.additive_slopes.transpose() * pairs.matrix();
    gradient.head(dimension) = -2 * (inverse.cwiseProduct(joint) + additive);
    gradient[dimension + kRatio] = -2 * additive.sum();
    const double half_trace = 0.5 * inner.trace();
    gradient.segment(dimension, kRatio) = half_trace * sizes;
    gradient[dimension + kSmooth] += (pairs * parts.smooth).sum();
    gradient[dimension + kRough] += (pairs * parts.rough).sum();
    gradient[dimension + kAdditive] += (pairs * parts.additive).sum();
    return energy + priors(theta, gradient);
  }

  // Lengths grow with the root of the dimension, as distances do (Hvarfner et al. 2024).
  static double center_of_lengths(Index dimension) {
    return kLengthPrior.center + 0.5 * std::log(static_cast<double>(dimension));
  }

 private:
  Covariances compute(const VectorXd& inverse, const VectorXd& sizes, double factor) const {
    const ArrayXd distance = squares_ * inverse;
    const Curve trend = smooth(distance);
    const Curve bumps = rough(distance);
    Covariances parts{sizes[kSmooth] * trend.value, sizes[kRough] * bumps.value,
                      ArrayXd::Zero(distance.size()),
                      sizes[kSmooth] * trend.slope + sizes[kRough] * bumps.slope,
                      MatrixXd(distance.size(), squares_.cols())};
    const double fraction = sizes[kAdditive] / static_cast<double>(squares_.cols());
    for (Index j = 0; j < squares_.cols(); ++j) {
      const ArrayXd along = squares_.col(j).array() * (inverse[j] * factor);
      const Curve curve = smooth(along);
      parts.additive += fraction * curve.value;
      parts.additive_slopes.col(j) = fraction * curve.slope * along;
    }
    return parts;
  }

  double priors(const VectorXd& theta, VectorXd& gradient) const {
    const Index dimension = squares_.cols();
    const double center = center_of_lengths(dimension);
    double energy = 0;
    for (Index j = 0; j < dimension; ++j) {
      energy += add_prior(theta[j], {center, kLengthPrior.width}, gradient[j]);
    }
    for (Index place = 0; place < kPlaces; ++place) {
      energy += add_prior(theta[dimension + place], kPriors[static_cast<std::size_t>(place)],
                          gradient[dimension + place]);
    }
    return energy;
  }

  const VectorXd& y_;
  MatrixXd squares_;
};

// Where the search begins, by Place: a smooth function, one with short lengths and noise, one that
// is a sum over the axes. `shift` is of the lengths.
struct Start {
  double shift;
  std::array<double, kPlaces> places;
};

constexpr std::array<Start, 3> kStarts = {{{0.0, {0.0, -3.0, -2.0, -9.0, -1.1}},
                                           {-1.2, {0.0, -3.0, -2.0, -4.0, -1.1}},
                                           {0.0, {-1.0, -3.0, 0.0, -9.0, -2.5}}}};

VectorXd to_theta(const KernelShape& shape) {
  VectorXd theta(shape.log_lengths.size() + kPlaces);
  theta << shape.log_lengths, shape.log_scale, shape.log_rough, shape.log_additive, shape.log_noise,
      shape.log_ratio;
  return theta;
}

KernelShape to_shape(const VectorXd& theta) {
  const VectorXd places = theta.tail(kPlaces);
  return {.log_lengths = theta.head(theta.size() - kPlaces),
          .log_scale = places[kSmooth],
          .log_rough = places[kRough],
          .log_additive = places[kAdditive],
          .log_ratio = places[kRatio],
          .log_noise = places[kNoise]};
}

}  // namespace

Fit fit_shape(const Samples& samples, const std::vector<bool>& is_choice,
              const std::optional<KernelShape>& near) {
  const Index dimension = samples.x.cols();
  const Posterior posterior(samples, is_choice);
  VectorXd low(dimension + kPlaces);
  VectorXd high(dimension + kPlaces);
  low << VectorXd::Constant(dimension, -4.6), -6, -16, -16, -16, -4;
  high << VectorXd::Constant(dimension, 4), 5, 3, 5, 1, 2;
  std::vector<VectorXd> starts;
  if (near) {
    starts.push_back(to_theta(*near));
  } else {
    for (const Start& from : kStarts) {
      VectorXd start(dimension + kPlaces);
      start << VectorXd::Constant(dimension, Posterior::center_of_lengths(dimension) + from.shift),
          Eigen::Map<const VectorXd>(from.places.data(), kPlaces);
      starts.push_back(std::move(start));
    }
  }
  Minimum best{starts.front(), std::numeric_limits<double>::infinity()};
  for (const VectorXd& start : starts) {
    Minimum found =
        minimize(posterior, start, low, high, {.gradient_min = 1e-3, .decrease_min = 1e-5});
    if (found.value < best.value) {
      best = std::move(found);
    }
  }
  return {to_shape(best.x), best.value};
}

GaussianProcess::GaussianProcess(Samples samples, KernelShape shape,
                                 const std::vector<bool>& is_choice)
    : x_(std::move(samples.x)),
      inverse_squares_((-2 * shape.log_lengths.array()).exp()),
      scale_(std::exp(shape.log_scale)),
      rough_scale_(std::exp(shape.log_rough)),
      additive_scale_(std::exp(shape.log_additive)),
      additive_factor_(std::exp(-2 * shape.log_ratio)),
      noise_(std::exp(shape.log_noise) + kJitter),
      is_choice_(is_choice) {
  const Index n = x_.rows();
  root_.resize(n, n);
  for (Index a = 0; a < n; ++a) {
    root_.col(a) = kernel_of(squares_to(x_.row(a).transpose()));
  }
  root_.diagonal().array() += noise_;
  const Eigen::LLT<Eigen::Ref<MatrixXd>> cholesky(root_);
  alpha_ = cholesky.solve(samples.y);
}

MatrixXd GaussianProcess::squares_to(const VectorXd& x) const {
  MatrixXd squares(x_.rows(), x.size());
  for (Index j = 0; j < x.size(); ++j) {
    const bool is_choice = is_choice_[static_cast<std::size_t>(j)];
    for (Index a = 0; a < x_.rows(); ++a) {
      squares(a, j) = inverse_squares_[j] * squared_difference(x_(a, j), x[j], is_choice);
    }
  }
  return squares;
}

VectorXd GaussianProcess::kernel_of(const MatrixXd& squares) const {
  const ArrayXd distance = squares.rowwise().sum();
  ArrayXd kernel = scale_ * smooth(distance).value + rough_scale_ * rough(distance).value;
  const double fraction = additive_scale_ / static_cast<double>(squares.cols());
  for (Index j = 0; j < squares.cols(); ++j) {
    kernel += fraction * smooth(squares.col(j).array() * additive_factor_).value;
  }
  return kernel;
}

Prediction GaussianProcess::predict(const VectorXd& x) const {
  const VectorXd k = kernel_of(squares_to(x));
  const VectorXd v = root_.triangularView<Eigen::Lower>().solve(k);
  return {k.dot(alpha_), std::max(variance_before() - v.squaredNorm(), kVarianceMin)};
}

std::vector<Prediction> GaussianProcess::predict(std::span<const VectorXd> points) const {
  MatrixXd k(x_.rows(), static_cast<Index>(points.size()));
  for (std::size_t i = 0; i < points.size(); ++i) {
    k.col(static_cast<Index>(i)) = kernel_of(squares_to(points[i]));
  }
  const VectorXd means = k.transpose() * alpha_;
  root_.triangularView<Eigen::Lower>().solveInPlace(k);
  std::vector<Prediction> predictions;
  predictions.reserve(points.size());
  for (Index i = 0; i < k.cols(); ++i) {
    const double variance = variance_before() - k.col(i).squaredNorm();
    predictions.push_back({means[i], std::max(variance, kVarianceMin)});
  }
  return predictions;
}

Prediction GaussianProcess::predict(const VectorXd& x, VectorXd& mean_gradient,
                                    VectorXd& variance_gradient) const {
  const MatrixXd squares = squares_to(x);
  const ArrayXd distance = squares.rowwise().sum();
  const Curve trend = smooth(distance);
  const Curve bumps = rough(distance);
  const ArrayXd joint = scale_ * trend.slope + rough_scale_ * bumps.slope;
  const double fraction = additive_scale_ / static_cast<double>(x.size());
  VectorXd k = scale_ * trend.value + rough_scale_ * bumps.value;
  MatrixXd changes(x_.rows(), x.size());  // of the kernel, with x
  for (Index j = 0; j < x.size(); ++j) {
    const Curve curve = smooth(squares.col(j).array() * additive_factor_);
    k.array() += fraction * curve.value;
    if (is_choice_[static_cast<std::size_t>(j)]) {
      changes.col(j).setZero();
    } else {
      changes.col(j) = (joint + fraction * additive_factor_ * curve.slope) *
                       (2 * inverse_squares_[j]) * (x[j] - x_.col(j).array());
    }
  }
  const auto root = root_.triangularView<Eigen::Lower>();
  VectorXd weights = root.solve(k);
  const double variance = variance_before() - weights.squaredNorm();
  root.transpose().solveInPlace(weights);
  mean_gradient = changes.transpose() * alpha_;
  variance_gradient = -2 * changes.transpose() * weights;
  return {k.dot(alpha_), std::max(variance, kVarianceMin)};
}

// The factor gets one more row. The new value is the mean, so that it explains nothing: its weight
// is 0, and the others' stay.
void GaussianProcess::believe(const VectorXd& x) {
  const VectorXd row = root_.triangularView<Eigen::Lower>().solve(kernel_of(squares_to(x)));
  const Index n = x_.rows();
  x_.conservativeResize(n + 1, Eigen::NoChange);
  x_.row(n) = x.transpose();
  root_.conservativeResize(n + 1, n + 1);
  root_.row(n).head(n) = row.transpose();
  root_(n, n) = std::sqrt(std::max(variance_before() + noise_ - row.squaredNorm(), noise_));
  alpha_.conservativeResize(n + 1);
  alpha_[n] = 0;
}

}  // namespace kedge::search
