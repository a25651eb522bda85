// A Gaussian process over the cube, the sum of three: a smooth part (Matern 5/2) with a length per
// axis, a rough part (Matern 3/2) with the same lengths made shorter, and an additive part, a
// function of each axis by itself. Lengths, scales and noise are the most probable ones given the
// data and a prior. Of a bumpy function the smooth part sees the trend; the rough part takes the
// bumps, which without it would make the lengths short and the trend unseen. What one parameter
// does whatever the others are, the additive part learns in detail, because every point tells.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <Eigen/Core>

namespace kedge::search {

struct KernelShape {
  Eigen::VectorXd log_lengths;
  double log_scale = 0;     // of the smooth part's variance
  double log_rough = 0;     // of the rough part's
  double log_additive = 0;  // of the additive part's, all axes together
  double log_ratio = 0;     // of the additive part's lengths to the smooth part's
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

  // Of many points, in much less time than one after the other.
  std::vector<Prediction> predict(std::span<const Eigen::VectorXd> points) const;

  // Also how both change with x; axes with choices have no gradient.
  Prediction predict(const Eigen::VectorXd& x, Eigen::VectorXd& mean_gradient,
                     Eigen::VectorXd& variance_gradient) const;

  // Takes one more point, whose value is what is predicted there: the process is sure of it then.
  void believe(const Eigen::VectorXd& x);

 private:
  // The squared distances from x to the samples along each axis, in lengths; the kernel of them.
  Eigen::MatrixXd squares_to(const Eigen::VectorXd& x) const;
  Eigen::VectorXd kernel_of(const Eigen::MatrixXd& squares) const;

  double variance_before() const { return scale_ + rough_scale_ + additive_scale_; }

  Eigen::MatrixXd x_;
  Eigen::VectorXd inverse_squares_;
  double scale_;
  double rough_scale_;
  double additive_scale_;
  double additive_factor_;  // of squared distances, for the additive part
  double noise_;
  const std::vector<bool>& is_choice_;
  Eigen::MatrixXd root_;   // of the covariance of the samples (Cholesky), its lower half
  Eigen::VectorXd alpha_;  // what the samples weigh in a mean
};

struct Fit {
  KernelShape shape;
  double energy = 0;  // minus the log probability of shape and data, but for a constant
};

// `near`: where the search begins, if something like it is known; it takes a third of the time.
Fit fit_shape(const Samples& samples, const std::vector<bool>& is_choice,
              const std::optional<KernelShape>& near = {});

}  // namespace kedge::search
