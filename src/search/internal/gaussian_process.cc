#include "search/internal/gaussian_process.h"

#include <cmath>
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

// A bell over a logarithm: adds its part of the energy and of the gradient.
double add_prior(double at, double center, double width, double& gradient) {
  const double z = (at - center) / width;
  gradient += z / width;
  return 0.5 * z * z;
}

// Minus the log posterior of the kernel's shape.
class Posterior {
 public:
  Posterior(const Samples& samples, const std::vector<bool>& is_choice)
      : y_(samples.y), squares_(pair_squares(samples.x, is_choice)) {}

  // theta: the logarithms of the lengths, of both scales and of the noise.
  double operator()(const VectorXd& theta, VectorXd& gradient) const {
    const Index dimension = squares_.cols();
    const Index n = y_.size();
    const VectorXd inverse = (-2 * theta.head(dimension).array()).exp();
    const VectorXd sizes = theta.tail(3).array().exp();
    const ArrayXd distance = squares_ * inverse;
    const ArrayXd smooth_part = sizes[0] * smooth(distance);
    const ArrayXd rough_part = sizes[1] * rough(distance);
    MatrixXd covariance(n, n);
    fill_lower(covariance, smooth_part + rough_part);
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
    const VectorXd slope =
        pairs * (sizes[0] * smooth_slope(distance) + sizes[1] * rough_slope(distance));
    gradient.head(dimension) = -2 * inverse.cwiseProduct(squares_.transpose() * slope);
    const double half_trace = 0.5 * inner.trace();
    gradient[dimension] = (pairs * smooth_part).sum() + half_trace * sizes[0];
    gradient[dimension + 1] = (pairs * rough_part).sum() + half_trace * sizes[1];
    gradient[dimension + 2] = half_trace * sizes[2];
    return energy + priors(theta, gradient);
  }

  // Lengths grow with the root of the dimension, as distances do (Hvarfner et al. 2024).
  double priors(const VectorXd& theta, VectorXd& gradient) const {
    const Index dimension = squares_.cols();
    const double center = center_of_lengths(dimension);
    double energy = 0;
    for (Index j = 0; j < dimension; ++j) {
      energy += add_prior(theta[j], center, 1.2, gradient[j]);
    }
    energy += add_prior(theta[dimension], 0.5, 1.0, gradient[dimension]);
    energy += add_prior(theta[dimension + 1], -3.0, 2.0, gradient[dimension + 1]);
    energy += add_prior(theta[dimension + 2], -9.0, 3.0, gradient[dimension + 2]);
    return energy;
  }

  static double center_of_lengths(Index dimension) {
    return -0.3 + 0.5 * std::log(static_cast<double>(dimension));
  }

 private:
  const VectorXd& y_;
  MatrixXd squares_;
};

}  // namespace

KernelShape fit_shape(const Samples& samples, const std::vector<bool>& is_choice) {
  const Index dimension = samples.x.cols();
  const Posterior posterior(samples, is_choice);
  VectorXd low(dimension + 3);
  VectorXd high(dimension + 3);
  low << VectorXd::Constant(dimension, -4.6), -3, -16, -16;
  high << VectorXd::Constant(dimension, 4), 5, 3, 1;
  Minimum best{{}, std::numeric_limits<double>::infinity()};
  for (const double shift : {0.0, -1.2}) {
    VectorXd start(dimension + 3);
    start << VectorXd::Constant(dimension, Posterior::center_of_lengths(dimension) + shift), 0.0,
        -3.0, shift == 0 ? -9 : -4;
    Minimum found = minimize(posterior, start, low, high,
                             {.iterations_max = 30, .gradient_min = 1e-3, .decrease_min = 1e-5});
    if (found.value < best.value) {
      best = std::move(found);
    }
  }
  if (best.x.size() == 0) {
    return {VectorXd::Zero(dimension), 0, -3, -4};
  }
  return {best.x.head(dimension), best.x[dimension], best.x[dimension + 1], best.x[dimension + 2]};
}

GaussianProcess::GaussianProcess(Samples samples, KernelShape shape,
                                 const std::vector<bool>& is_choice)
    : samples_(std::move(samples)),
      shape_(std::move(shape)),
      inverse_squares_((-2 * shape_.log_lengths.array()).exp()),
      scale_(std::exp(shape_.log_scale)),
      rough_scale_(std::exp(shape_.log_rough)),
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

VectorXd GaussianProcess::squares_to(const VectorXd& x) const {
  VectorXd squares = VectorXd::Zero(samples_.x.rows());
  for (Index j = 0; j < x.size(); ++j) {
    const bool is_choice = is_choice_[static_cast<std::size_t>(j)];
    for (Index a = 0; a < samples_.x.rows(); ++a) {
      squares[a] += inverse_squares_[j] * squared_difference(samples_.x(a, j), x[j], is_choice);
    }
  }
  return squares;
}

VectorXd GaussianProcess::kernel_of(const VectorXd& squares) const {
  return scale_ * smooth(squares) + rough_scale_ * rough(squares);
}

Prediction GaussianProcess::predict(const VectorXd& x) const {
  const VectorXd k = kernel_of(squares_to(x));
  const VectorXd v = cholesky_.matrixL().solve(k);
  return {k.dot(alpha_), std::max(scale_ + rough_scale_ - v.squaredNorm(), kVarianceMin)};
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
    const double variance = scale_ + rough_scale_ - k.col(i).squaredNorm();
    predictions.push_back({means[i], std::max(variance, kVarianceMin)});
  }
  return predictions;
}

Prediction GaussianProcess::predict(const VectorXd& x, VectorXd& mean_gradient,
                                    VectorXd& variance_gradient) const {
  const VectorXd squares = squares_to(x);
  const VectorXd k = kernel_of(squares);
  const VectorXd slope = scale_ * smooth_slope(squares) + rough_scale_ * rough_slope(squares);
  const VectorXd weights = cholesky_.solve(k);
  for (Index j = 0; j < x.size(); ++j) {
    mean_gradient[j] = 0;
    variance_gradient[j] = 0;
    if (is_choice_[static_cast<std::size_t>(j)]) {
      continue;
    }
    const VectorXd change =
        slope.array() * (2 * inverse_squares_[j]) * (x[j] - samples_.x.col(j).array());
    mean_gradient[j] = change.dot(alpha_);
    variance_gradient[j] = -2 * change.dot(weights);
  }
  return {k.dot(alpha_), std::max(scale_ + rough_scale_ - k.dot(weights), kVarianceMin)};
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
