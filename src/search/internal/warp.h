// Losses made to look like a bell, which is what a Gaussian process expects of them.
#pragma once

#include <vector>

namespace kedge::search {

struct Warped {
  std::vector<double> losses;
  std::vector<double> log_slopes;  // of the warp at each loss
};

// Losses beyond the `knee` (a quantile) are squashed to logarithms of their distance from the best;
// then Yeo and Johnson's power transform (2000) of the standardised losses, with the power under
// which they are most like a bell, standardised again. Keeps their order.
Warped warp_losses(const std::vector<double>& losses, double knee);

// The transform itself, and minus its log likelihood, for tests.
double yeo_johnson(double y, double power);

}  // namespace kedge::search
