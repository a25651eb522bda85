// Tree-structured Parzen estimator (Bergstra et al. 2011), over all axes jointly: one density of
// the good points, one of the rest, and the draw from the first that the second explains least.
// Points that are out count as bad, so that many can be asked for at once.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/random.h"
#include "core/result.h"
#include "search/internal/acquisition.h"
#include "search/internal/design.h"
#include "search/internal/parzen.h"
#include "search/sampler.h"
#include "search/space.h"

namespace kedge::search {
namespace {

constexpr int kCandidates = 32;
constexpr std::size_t kGoodMax = 25;

class Tpe : public Sampler {
 public:
  explicit Tpe(const Problem& problem) : problem_(problem) {
    for (const Parameter& axis : problem.space.axes()) {
      counts_.push_back(axis.is_categorical() ? *axis.count() : 0);
    }
    for (const Observation& observation : problem.told) {
      told_.push_back(with_indices(observation.point));
      order_.push_back(order_.size());
    }
    std::ranges::stable_sort(order_, {}, [&](std::size_t i) { return problem_.told[i].loss; });
  }

  std::optional<Point> next(std::span<const Point> pending, std::int64_t number,
                            std::int64_t try_count) override {
    const std::size_t begin = std::clamp<std::size_t>(2 * counts_.size(), 4, 10);
    if (told_.size() < begin || try_count > 0 || counts_.empty()) {
      return design_point(problem_.space, problem_.seed, number, try_count);
    }
    const std::size_t good_count = std::min(
        kGoodMax, static_cast<std::size_t>(std::ceil(0.15 * static_cast<double>(told_.size()))));
    std::vector<Point> waiting;
    for (const Point& point : pending) {
      waiting.push_back(with_indices(point));
    }
    std::vector<const Point*> good;
    std::vector<const Point*> bad;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      (i < std::max<std::size_t>(good_count, 2) ? good : bad).push_back(&told_[order_[i]]);
    }
    for (const Point& point : waiting) {
      bad.push_back(&point);
    }
    return pick(Parzen(good, counts_), Parzen(bad, counts_), number);
  }

 private:
  Point pick(const Parzen& good, const Parzen& bad, std::int64_t number) const {
    Random random({problem_.seed, static_cast<std::uint64_t>(number), 0x79e5U});
    Point best;
    double best_score = -std::numeric_limits<double>::infinity();
    for (int i = 0; i < kCandidates; ++i) {
      const Point point = good.draw(random);
      const double score = good.log_density(point) - bad.log_density(point);
      if (best.empty() || score > best_score) {
        best_score = score;
        best = point;
      }
    }
    for (std::size_t axis = 0; axis < best.size(); ++axis) {
      if (counts_[axis] > 0) {
        best[axis] =
            problem_.space.axes()[axis].quantile_of(static_cast<std::uint64_t>(best[axis]));
      }
    }
    return best;
  }

  Point with_indices(const Point& point) const {
    Point features = point;
    for (std::size_t axis = 0; axis < point.size(); ++axis) {
      if (counts_[axis] > 0) {
        features[axis] = static_cast<double>(problem_.space.axes()[axis].index_at(point[axis]));
      }
    }
    return features;
  }

  Problem problem_;
  std::vector<std::uint64_t> counts_;
  std::vector<Point> told_;
  std::vector<std::size_t> order_;
};

const Samplers::Add kAddTpe{{"tpe",
                             "Bayesian: tree-structured Parzen estimator; cheap at any length",
                             [](const Problem& problem) -> Result<std::unique_ptr<Sampler>> {
                               return std::make_unique<Tpe>(problem);
                             }}};

}  // namespace
}  // namespace kedge::search
