// A Gaussian process over the cube: Matern 5/2 with a length per axis, whose lengths, scale and
// noise are the most probable ones given the data and a prior.
#pragma once

#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace kedge::search {

struct KernelShape {
  Eigen::VectorXd log_lengths;
  double log_scale = 0;  // of the variance
  double log_noise = -9;
};

struct Prediction {
  double mean = 0;
  double variance = 0;
};

// One row per point, one column per axis; values that should have mean 0 and variance 1 or so.
struct Samples {
  Eigen::MatrixXd x;
  Eigen::VectorXd y;
};

class GaussianProcess {
 public:
  // is_choice[j]: axis j has choices, which are alike or not, and no order.
  GaussianProcess(Samples samples, KernelShape shape, const std::vector<bool>& is_choice);

  Prediction predict(const Eigen::VectorXd& x) const;

  // Also how both change with x; axes with choices have no gradient.
  Prediction predict(const Eigen::VectorXd& x, Eigen::VectorXd& mean_gradient,
                     Eigen::VectorXd& variance_gradient) const;

  // Takes one more point, whose value is what is predicted there: the process is sure of it then.
  void believe(const Eigen::VectorXd& x);

 private:
  void solve();
  Eigen::VectorXd kernel_to(const Eigen::VectorXd& x) const;

  Samples samples_;
  KernelShape shape_;
  Eigen::VectorXd inverse_squares_;
  const std::vector<bool>& is_choice_;
  Eigen::LLT<Eigen::MatrixXd> cholesky_;
  Eigen::VectorXd alpha_;
};

KernelShape fit_shape(const Samples& samples, const std::vector<bool>& is_choice);

}  // namespace kedge::search
