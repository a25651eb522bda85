// Losses made to look like a bell, which is what a Gaussian process expects of them.
#pragma once

#include <vector>

namespace kedge::search {

// Losses beyond the median are squashed to logarithms; then Yeo and Johnson's power transform
// (2000) of the standardised losses, with the power under which they are most like a bell,
// standardised again. Keeps their order.
std::vector<double> warp_losses(const std::vector<double>& losses);

// The transform itself, and minus its log likelihood, for tests.
double yeo_johnson(double y, double power);

}  // namespace kedge::search
