#include "search/internal/gaussian_process.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
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

// Both are functions of the squared distance, scaled by the lengths; slopes are derivatives by it.
ArrayXd smooth(const ArrayXd& squares) {
  const ArrayXd r = (5 * squares).sqrt();
  return (1 + r + r.square() / 3) * (-r).exp();
}

ArrayXd smooth_slope(const ArrayXd& squares) {
  const ArrayXd r = (5 * squares).sqrt();
  return -(5.0 / 6.0) * (1 + r) * (-r).exp();
}

ArrayXd rough(const ArrayXd& squares) {
  const ArrayXd r = kRoughness * (3 * squares).sqrt();
  return (1 + r) * (-r).exp();
}

ArrayXd rough_slope(const ArrayXd& squares) {
  return -1.5 * kRoughness * kRoughness * (-kRoughness * (3 * squares).sqrt()).exp();
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
    Covariances parts{
        sizes[kSmooth] * smooth(distance), sizes[kRough] * rough(distance),
        ArrayXd::Zero(distance.size()),
        sizes[kSmooth] * smooth_slope(distance) + sizes[kRough] * rough_slope(distance),
        MatrixXd(distance.size(), squares_.cols())};
    const double share = sizes[kAdditive] / static_cast<double>(squares_.cols());
    for (Index j = 0; j < squares_.cols(); ++j) {
      const ArrayXd along = squares_.col(j).array() * (inverse[j] * factor);
      parts.additive += share * smooth(along);
      parts.additive_slopes.col(j) = share * smooth_slope(along) * along;
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

}  // namespace

Fit fit_shape(const Samples& samples, const std::vector<bool>& is_choice) {
  const Index dimension = samples.x.cols();
  const Posterior posterior(samples, is_choice);
  VectorXd low(dimension + kPlaces);
  VectorXd high(dimension + kPlaces);
  low << VectorXd::Constant(dimension, -4.6), -6, -16, -16, -16, -4;
  high << VectorXd::Constant(dimension, 4), 5, 3, 5, 1, 2;
  Minimum best{{}, std::numeric_limits<double>::infinity()};
  for (const Start& from : kStarts) {
    VectorXd start(dimension + kPlaces);
    start << VectorXd::Constant(dimension, Posterior::center_of_lengths(dimension) + from.shift),
        Eigen::Map<const VectorXd>(from.places.data(), kPlaces);
    Minimum found = minimize(posterior, start, low, high,
                             {.iterations_max = 30, .gradient_min = 1e-3, .decrease_min = 1e-5});
    if (found.value < best.value) {
      best = std::move(found);
    }
  }
  Fit fit{{.log_lengths = VectorXd::Zero(dimension),
           .log_rough = -3,
           .log_additive = -3,
           .log_noise = -4},
          best.value};
  if (best.x.size() > 0) {
    const VectorXd places = best.x.tail(kPlaces);
    fit.shape = {.log_lengths = best.x.head(dimension),
                 .log_scale = places[kSmooth],
                 .log_rough = places[kRough],
                 .log_additive = places[kAdditive],
                 .log_ratio = places[kRatio],
                 .log_noise = places[kNoise]};
  }
  return fit;
}

GaussianProcess::GaussianProcess(Samples samples, KernelShape shape,
                                 const std::vector<bool>& is_choice)
    : samples_(std::move(samples)),
      shape_(std::move(shape)),
      inverse_squares_((-2 * shape_.log_lengths.array()).exp()),
      scale_(std::exp(shape_.log_scale)),
      rough_scale_(std::exp(shape_.log_rough)),
      additive_scale_(std::exp(shape_.log_additive)),
      additive_factor_(std::exp(-2 * shape_.log_ratio)),
      is_choice_(is_choice) {
  solve();
}

void GaussianProcess::solve() {
  const Index n = samples_.x.rows();
  MatrixXd covariance(n, n);
  for (Index a = 0; a < n; ++a) {
    covariance.col(a) = kernel_of(squares_to(samples_.x.row(a).transpose()));
  }
  covariance.diagonal().array() += std::exp(shape_.log_noise) + kJitter;
  cholesky_.compute(covariance);
  alpha_ = cholesky_.solve(samples_.y);
}

MatrixXd GaussianProcess::squares_to(const VectorXd& x) const {
  MatrixXd squares(samples_.x.rows(), x.size());
  for (Index j = 0; j < x.size(); ++j) {
    const bool is_choice = is_choice_[static_cast<std::size_t>(j)];
    for (Index a = 0; a < samples_.x.rows(); ++a) {
      squares(a, j) = inverse_squares_[j] * squared_difference(samples_.x(a, j), x[j], is_choice);
    }
  }
  return squares;
}

VectorXd GaussianProcess::kernel_of(const MatrixXd& squares) const {
  const ArrayXd distance = squares.rowwise().sum();
  ArrayXd kernel = scale_ * smooth(distance) + rough_scale_ * rough(distance);
  const double share = additive_scale_ / static_cast<double>(squares.cols());
  for (Index j = 0; j < squares.cols(); ++j) {
    kernel += share * smooth(squares.col(j).array() * additive_factor_);
  }
  return kernel;
}

Prediction GaussianProcess::predict(const VectorXd& x) const {
  const VectorXd k = kernel_of(squares_to(x));
  const VectorXd v = cholesky_.matrixL().solve(k);
  return {k.dot(alpha_), std::max(variance_before() - v.squaredNorm(), kVarianceMin)};
}

std::vector<Prediction> GaussianProcess::predict(std::span<const VectorXd> points) const {
  MatrixXd k(samples_.x.rows(), static_cast<Index>(points.size()));
  for (std::size_t i = 0; i < points.size(); ++i) {
    k.col(static_cast<Index>(i)) = kernel_of(squares_to(points[i]));
  }
  const VectorXd means = k.transpose() * alpha_;
  cholesky_.matrixL().solveInPlace(k);
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
  const VectorXd k = kernel_of(squares);
  const ArrayXd joint = scale_ * smooth_slope(distance) + rough_scale_ * rough_slope(distance);
  const double share = additive_scale_ * additive_factor_ / static_cast<double>(x.size());
  const VectorXd weights = cholesky_.solve(k);
  for (Index j = 0; j < x.size(); ++j) {
    mean_gradient[j] = 0;
    variance_gradient[j] = 0;
    if (is_choice_[static_cast<std::size_t>(j)]) {
      continue;
    }
    const ArrayXd slope = joint + share * smooth_slope(squares.col(j).array() * additive_factor_);
    const VectorXd change = slope * (2 * inverse_squares_[j]) * (x[j] - samples_.x.col(j).array());
    mean_gradient[j] = change.dot(alpha_);
    variance_gradient[j] = -2 * change.dot(weights);
  }
  return {k.dot(alpha_), std::max(variance_before() - k.dot(weights), kVarianceMin)};
}

void GaussianProcess::believe(const VectorXd& x) {
  const double mean = predict(x).mean;
  const Index n = samples_.x.rows();
  samples_.x.conservativeResize(n + 1, Eigen::NoChange);
  samples_.y.conservativeResize(n + 1);
  samples_.x.row(n) = x.transpose();
  samples_.y[n] = mean;
  solve();
}

}  // namespace kedge::search
