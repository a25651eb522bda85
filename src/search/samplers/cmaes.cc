// CMA-ES (Hansen, "The CMA evolution strategy: a tutorial", 2016). Its state is worked out anew
// from the results, lambda of them a generation in the order of handing out. With many agents a
// result may come from an older generation than the one it is counted to; such points are taken in
// as injected ones, their step cut to the usual length (Hansen, "Injecting external solutions",
// 2011).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <Eigen/Core>
#include <Eigen/Eigenvalues>

#include "core/random.h"
#include "core/result.h"
#include "search/internal/design.h"
#include "search/internal/probability.h"
#include "search/sampler.h"
#include "search/space.h"

namespace kedge::search {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kStepAtFirst = 0.25;  // of the cube's side
constexpr int kRedraws = 20;

class Evolution {
 public:
  explicit Evolution(Index dimension)
      : n_(static_cast<double>(dimension)),
        lambda_(4 + static_cast<std::size_t>(3 * std::log(n_))),
        mean_(VectorXd::Constant(dimension, 0.5)),
        path_c_(VectorXd::Zero(dimension)),
        path_s_(VectorXd::Zero(dimension)),
        covariance_(MatrixXd::Identity(dimension, dimension)) {
    const std::size_t mu = lambda_ / 2;
    weights_ = VectorXd(static_cast<Index>(mu));
    for (std::size_t i = 0; i < mu; ++i) {
      weights_[static_cast<Index>(i)] =
          std::log((static_cast<double>(lambda_) + 1) / 2) - std::log(static_cast<double>(i + 1));
    }
    weights_ /= weights_.sum();
    mu_eff_ = 1 / weights_.squaredNorm();
    c_sigma_ = (mu_eff_ + 2) / (n_ + mu_eff_ + 5);
    d_sigma_ = 1 + 2 * std::max(0.0, std::sqrt((mu_eff_ - 1) / (n_ + 1)) - 1) + c_sigma_;
    c_c_ = (4 + mu_eff_ / n_) / (n_ + 4 + 2 * mu_eff_ / n_);
    c_1_ = 2 / ((n_ + 1.3) * (n_ + 1.3) + mu_eff_);
    c_mu_ = std::min(1 - c_1_, 2 * (mu_eff_ - 2 + 1 / mu_eff_) / ((n_ + 2) * (n_ + 2) + mu_eff_));
    expected_norm_ = std::sqrt(n_) * (1 - 1 / (4 * n_) + 1 / (21 * n_ * n_));
    decompose();
  }

  std::size_t lambda() const { return lambda_; }

  // One generation: lambda results, the best first.
  void update(const std::vector<VectorXd>& points) {
    ++generation_;
    std::vector<VectorXd> steps;
    VectorXd step = VectorXd::Zero(mean_.size());
    for (Index i = 0; i < weights_.size(); ++i) {
      VectorXd y = (points[static_cast<std::size_t>(i)] - mean_) / sigma_;
      const double length = whiten(y).norm();
      const double limit = std::sqrt(n_) + 2 * n_ / (n_ + 2);
      y *= std::min(1.0, limit / std::max(length, 1e-300));
      step += weights_[i] * y;
      steps.push_back(std::move(y));
    }
    mean_ = (mean_ + sigma_ * step).cwiseMax(0).cwiseMin(1);
    path_s_ =
        (1 - c_sigma_) * path_s_ + std::sqrt(c_sigma_ * (2 - c_sigma_) * mu_eff_) * whiten(step);
    const double norm = path_s_.norm();
    const double settled =
        norm / std::sqrt(1 - std::pow(1 - c_sigma_, 2.0 * static_cast<double>(generation_)));
    const bool is_moving = settled < (1.4 + 2 / (n_ + 1)) * expected_norm_;
    path_c_ = (1 - c_c_) * path_c_;
    if (is_moving) {
      path_c_ += std::sqrt(c_c_ * (2 - c_c_) * mu_eff_) * step;
    }
    const double stall = is_moving ? 0 : c_c_ * (2 - c_c_);
    covariance_ =
        (1 - c_1_ - c_mu_ + c_1_ * stall) * covariance_ + c_1_ * path_c_ * path_c_.transpose();
    for (Index i = 0; i < weights_.size(); ++i) {
      const VectorXd& y = steps[static_cast<std::size_t>(i)];
      covariance_ += c_mu_ * weights_[i] * y * y.transpose();
    }
    sigma_ *= std::exp(std::min(1.0, (c_sigma_ / d_sigma_) * (norm / expected_norm_ - 1)));
    sigma_ = std::clamp(sigma_, 1e-9, 1.0);
    decompose();
  }

  // Drawn again while outside the cube, at last cut to it.
  VectorXd draw(Random& random) const {
    VectorXd x;
    for (int i = 0; i < kRedraws; ++i) {
      VectorXd z(mean_.size());
      for (double& value : z) {
        value = draw_normal(random);
      }
      x = mean_ + sigma_ * (axes_ * (roots_.asDiagonal() * z));
      if (x.minCoeff() >= 0 && x.maxCoeff() < 1) {
        return x;
      }
    }
    return x.cwiseMax(0).cwiseMin(1 - 1e-12);
  }

 private:
  VectorXd whiten(const VectorXd& y) const {
    return axes_ * (roots_.cwiseInverse().asDiagonal() * (axes_.transpose() * y));
  }

  void decompose() {
    const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(covariance_);
    axes_ = solver.eigenvectors();
    roots_ = solver.eigenvalues().cwiseMax(1e-20).cwiseSqrt();
  }

  double n_;
  std::size_t lambda_;
  VectorXd mean_;
  VectorXd path_c_;
  VectorXd path_s_;
  MatrixXd covariance_;
  VectorXd weights_;
  double sigma_ = kStepAtFirst;
  double mu_eff_ = 0;
  double c_sigma_ = 0;
  double d_sigma_ = 0;
  double c_c_ = 0;
  double c_1_ = 0;
  double c_mu_ = 0;
  double expected_norm_ = 0;
  std::int64_t generation_ = 0;
  MatrixXd axes_;
  VectorXd roots_;
};

class CmaEs : public Sampler {
 public:
  explicit CmaEs(const Problem& problem)
      : problem_(problem),
        evolution_(static_cast<Index>(std::max<std::size_t>(problem.space.axes().size(), 1))) {
    const std::size_t lambda = evolution_.lambda();
    for (std::size_t begin = 0; begin + lambda <= problem.told.size(); begin += lambda) {
      std::vector<Observation> generation(
          problem.told.begin() + static_cast<std::ptrdiff_t>(begin),
          problem.told.begin() + static_cast<std::ptrdiff_t>(begin + lambda));
      std::ranges::stable_sort(generation, {}, &Observation::loss);
      std::vector<VectorXd> points;
      for (const Observation& one : generation) {
        points.emplace_back(
            Eigen::Map<const VectorXd>(one.point.data(), static_cast<Index>(one.point.size())));
      }
      evolution_.update(points);
    }
  }

  std::optional<Point> next(std::span<const Point> /*pending*/, std::int64_t number,
                            std::int64_t try_count) override {
    // Where steps have become smaller than the values are apart, draws repeat themselves.
    constexpr std::int64_t kTriesMax = 16;
    if (problem_.space.axes().empty() || try_count >= kTriesMax) {
      return design_point(problem_.space, problem_.seed, number, try_count);
    }
    Random random(
        {problem_.seed, static_cast<std::uint64_t>(number), static_cast<std::uint64_t>(try_count)});
    const VectorXd x = evolution_.draw(random);
    return Point(x.begin(), x.end());
  }

 private:
  Problem problem_;
  Evolution evolution_;
};

const Samplers::Add kAddCmaEs{{"cmaes",
                               "evolutionary: CMA-ES, for numbers that depend on each other",
                               [](const Problem& problem) -> Result<std::unique_ptr<Sampler>> {
                                 return std::make_unique<CmaEs>(problem);
                               }}};

}  // namespace
}  // namespace kedge::search
