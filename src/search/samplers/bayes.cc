// Bayesian optimisation: a Gaussian process of the losses, and the point where the improvement to
// be expected is largest. Points that are out are believed to come out as predicted, so that the
// process is sure of them and looks elsewhere: many can be asked for at once. Once the process has
// had its chance, every fourth point is the Parzen estimator's, which asks only which points are
// good: where the process is wrong about the function, the search goes on, and the process learns
// from what was found. Some more points of the design lead out of a valley that is not the deepest.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "core/random.h"
#include "core/result.h"
#include "search/internal/acquisition.h"
#include "search/internal/design.h"
#include "search/internal/gaussian_process.h"
#include "search/internal/warp.h"
#include "search/sampler.h"
#include "search/space.h"

namespace kedge::search {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

// The cost of a proposal grows with the cube of what is looked at: the best points and those spread
// over the rest of the history are enough to find better ones.
constexpr std::size_t kFitMax = 128;
constexpr std::size_t kPointsMax = 320;

// Who else has a say, and from how many results for each axis on. Short sweeps are the process's
// alone.
constexpr std::size_t kBeginPerAxis = 2;
constexpr std::size_t kLongBeginPerAxis = 4;
constexpr std::size_t kBeginFraction = 5;  // of a long sweep: one trial in five
constexpr std::size_t kAlonePerAxis = 5;
constexpr std::int64_t kParzenEvery = 4;
constexpr std::int64_t kDesignEvery = 8;
constexpr std::size_t kDesignPerAxis = 13;  // and until how many

// Quantiles of the losses beyond which they are taken as logarithms.
constexpr std::array<double, 2> kKnees = {0.5, 0.1};

// How many points of the design come first. A sweep that is known to be long looks around more
// before it follows what it has seen: of many valleys it then goes down the deepest more often.
std::size_t count_first(const Problem& problem) {
  const std::size_t dimension = problem.space.axes().size();
  const std::size_t few = std::clamp<std::size_t>(kBeginPerAxis * dimension, 4, 12);
  const auto fraction = static_cast<std::size_t>(problem.run_cap.value_or(0)) / kBeginFraction;
  return std::max(few, std::min(fraction, kLongBeginPerAxis * dimension));
}

// The best half of `count`, and of the others every k-th.
std::vector<std::size_t> choose(std::span<const Observation> told, std::size_t count) {
  std::vector<std::size_t> order(told.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  if (order.size() <= count) {
    return order;
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return told[i].loss; });
  std::vector<std::size_t> chosen(order.begin(),
                                  order.begin() + static_cast<std::ptrdiff_t>(count / 2));
  const std::size_t rest = order.size() - count / 2;
  const std::size_t wanted = count - count / 2;
  for (std::size_t k = 0; k < wanted; ++k) {
    chosen.push_back(order[count / 2 + k * rest / wanted]);
  }
  return chosen;
}

class Bayes : public Sampler {
 public:
  Bayes(const Problem& problem, std::unique_ptr<Sampler> parzen)
      : problem_(problem), axes_(describe_axes(problem.space)), parzen_(std::move(parzen)) {}

  std::optional<Point> next(std::span<const Point> pending, std::int64_t number,
                            std::int64_t try_count) override {
    const std::size_t dimension = axes_.is_choice.size();
    const std::size_t count = problem_.told.size();
    const bool is_alone = count < kAlonePerAxis * dimension;
    const bool looks_around =
        !is_alone && count < kDesignPerAxis * dimension && number % kDesignEvery == 1;
    if (count < count_first(problem_) || looks_around || try_count > 0 || dimension == 0) {
      return design_point(problem_.space, problem_.seed, number, try_count);
    }
    if (!is_alone && number % kParzenEvery == 0) {
      return parzen_->next(pending, number, try_count);
    }
    GaussianProcess& process = process_ ? *process_ : process_.emplace(fit());
    for (; believed_ < pending.size(); ++believed_) {
      process.believe(axes_.features(pending[believed_]));
    }
    const Acquisition acquisition(process, best_loss_, axes_);
    Random random({problem_.seed, static_cast<std::uint64_t>(number), 0xba7e5U});
    return acquisition.maximize(best_points_, random);
  }

 private:
  Samples samples_of(const std::vector<std::size_t>& chosen,
                     const std::vector<double>& losses) const {
    Samples samples{Eigen::MatrixXd(static_cast<Index>(chosen.size()),
                                    static_cast<Index>(axes_.is_choice.size())),
                    VectorXd(static_cast<Index>(chosen.size()))};
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      samples.x.row(static_cast<Index>(i)) =
          axes_.features(problem_.told[chosen[i]].point).transpose();
      samples.y[static_cast<Index>(i)] = losses[chosen[i]];
    }
    return samples;
  }

  // The losses as a Gaussian process explains them best, and its shape. Some functions are plain
  // near their optimum, others only in logarithms; the data tell. What is compared is the
  // probability of the losses themselves, whatever the warp made of their scale.
  std::pair<std::vector<double>, KernelShape> explain(const std::vector<double>& losses) const {
    const std::vector<std::size_t> looked_at = choose(problem_.told, kFitMax);
    std::pair<std::vector<double>, KernelShape> best;
    std::optional<double> least;
    for (const double knee : kKnees) {
      Warped warped = warp_losses(losses, knee);
      const std::optional<KernelShape> near = least ? std::optional(best.second) : std::nullopt;
      Fit found = fit_shape(samples_of(looked_at, warped.losses), axes_.is_choice, near);
      double energy = found.energy;
      for (const std::size_t i : looked_at) {
        energy -= warped.log_slopes[i];
      }
      if (!least || energy < *least) {
        least = energy;
        best = {std::move(warped.losses), std::move(found.shape)};
      }
    }
    return best;
  }

  GaussianProcess fit() {
    std::vector<double> losses;
    for (const Observation& observation : problem_.told) {
      losses.push_back(observation.loss);
    }
    KernelShape shape;
    std::tie(losses, shape) = explain(losses);
    best_loss_ = *std::ranges::min_element(losses);
    std::vector<std::size_t> order(losses.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return losses[i]; });
    for (std::size_t i = 0; i < std::min<std::size_t>(5, order.size()); ++i) {
      best_points_.push_back(axes_.features(problem_.told[order[i]].point));
    }
    return {samples_of(choose(problem_.told, kPointsMax), losses), std::move(shape),
            axes_.is_choice};
  }

  Problem problem_;
  Axes axes_;
  std::unique_ptr<Sampler> parzen_;
  std::optional<GaussianProcess> process_;
  std::size_t believed_ = 0;
  double best_loss_ = 0;
  std::vector<VectorXd> best_points_;
};

const Samplers::Add kAddBayes{
    {"bayes", "Bayesian: a Gaussian process, expected improvement, aware of what is running",
     [](const Problem& problem) -> Result<std::unique_ptr<Sampler>> {
       return std::make_unique<Bayes>(problem, KEDGE_TRY(Samplers::make("method", "tpe", problem)));
     }}};

}  // namespace
}  // namespace kedge::search
