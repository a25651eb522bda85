#include "search/internal/gaussian_process.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "search/internal/lbfgs.h"

namespace kedge::search {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kJitter = 1e-9;

// The rough part's lengths are this much shorter than the smooth part's.
constexpr double kRoughness = 5;

// Both are functions of the squared distance, scaled by the lengths; slopes are derivatives by it.
double smooth(double square) {
  const double r = std::sqrt(5 * square);
  return (1 + r + r * r / 3) * std::exp(-r);
}

double smooth_slope(double square) {
  const double r = std::sqrt(5 * square);
  return -(5.0 / 6.0) * (1 + r) * std::exp(-r);
}

double rough(double square) {
  const double r = kRoughness * std::sqrt(3 * square);
  return (1 + r) * std::exp(-r);
}

double rough_slope(double square) {
  return -1.5 * kRoughness * kRoughness * std::exp(-kRoughness * std::sqrt(3 * square));
}

double squared_difference(double a, double b, bool is_choice) {
  if (is_choice) {
    return a == b ? 0 : 1;
  }
  return (a - b) * (a - b);
}

// The squared differences of all pairs, a matrix per axis.
std::vector<MatrixXd> pair_squares(const MatrixXd& x, const std::vector<bool>& is_choice) {
  std::vector<MatrixXd> squares;
  for (Index j = 0; j < x.cols(); ++j) {
    MatrixXd square(x.rows(), x.rows());
    for (Index a = 0; a < x.rows(); ++a) {
      for (Index b = 0; b < x.rows(); ++b) {
        square(a, b) = squared_difference(x(a, j), x(b, j), is_choice[static_cast<std::size_t>(j)]);
      }
    }
    squares.push_back(std::move(square));
  }
  return squares;
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
    const auto dimension = static_cast<Index>(squares_.size());
    const Index n = y_.size();
    const VectorXd inverse = (-2 * theta.head(dimension).array()).exp();
    const VectorXd sizes = theta.tail(3).array().exp();
    MatrixXd distance = MatrixXd::Zero(n, n);
    for (Index j = 0; j < dimension; ++j) {
      distance.noalias() += inverse[j] * squares_[static_cast<std::size_t>(j)];
    }
    const MatrixXd smooth_part = sizes[0] * distance.unaryExpr(&smooth);
    const MatrixXd rough_part = sizes[1] * distance.unaryExpr(&rough);
    MatrixXd covariance = smooth_part + rough_part;
    covariance.diagonal().array() += sizes[2] + kJitter;
    const Eigen::LLT<MatrixXd> cholesky(covariance);
    if (cholesky.info() != Eigen::Success) {
      return std::numeric_limits<double>::infinity();
    }
    const VectorXd alpha = cholesky.solve(y_);
    const MatrixXd inner =
        cholesky.solve(MatrixXd::Identity(n, n)) - alpha * alpha.transpose();  // K^-1 - aa'
    double energy = 0.5 * y_.dot(alpha);
    energy += cholesky.matrixLLT().diagonal().array().log().sum();
    const MatrixXd slope = inner.cwiseProduct(sizes[0] * distance.unaryExpr(&smooth_slope) +
                                              sizes[1] * distance.unaryExpr(&rough_slope));
    for (Index j = 0; j < dimension; ++j) {
      gradient[j] = -inverse[j] * slope.cwiseProduct(squares_[static_cast<std::size_t>(j)]).sum();
    }
    gradient[dimension] = 0.5 * inner.cwiseProduct(smooth_part).sum();
    gradient[dimension + 1] = 0.5 * inner.cwiseProduct(rough_part).sum();
    gradient[dimension + 2] = 0.5 * sizes[2] * inner.trace();
    return energy + priors(theta, gradient);
  }

  // Lengths grow with the root of the dimension, as distances do (Hvarfner et al. 2024).
  double priors(const VectorXd& theta, VectorXd& gradient) const {
    const auto dimension = static_cast<Index>(squares_.size());
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
  std::vector<MatrixXd> squares_;
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
  return scale_ * squares.unaryExpr(&smooth) + rough_scale_ * squares.unaryExpr(&rough);
}

Prediction GaussianProcess::predict(const VectorXd& x) const {
  const VectorXd k = kernel_of(squares_to(x));
  const VectorXd v = cholesky_.matrixL().solve(k);
  return {k.dot(alpha_), std::max(scale_ + rough_scale_ - v.squaredNorm(), 1e-14)};
}

Prediction GaussianProcess::predict(const VectorXd& x, VectorXd& mean_gradient,
                                    VectorXd& variance_gradient) const {
  const VectorXd squares = squares_to(x);
  const VectorXd k = kernel_of(squares);
  const VectorXd slope =
      scale_ * squares.unaryExpr(&smooth_slope) + rough_scale_ * squares.unaryExpr(&rough_slope);
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
  return {k.dot(alpha_), std::max(scale_ + rough_scale_ - k.dot(weights), 1e-14)};
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
