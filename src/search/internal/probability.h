// Distribution functions and their inverses that the C++ library lacks.
#pragma once

#include "core/random.h"

namespace kedge::search {

double normal_cdf(double x);
double normal_pdf(double x);
// Of p in (0, 1); accurate to about 1e-15 relative.
double normal_quantile(double p);

// A draw from the standard bell.
double draw_normal(Random& random);

// The regularised incomplete beta function: the CDF of Beta(a, b) at x in [0, 1].
double beta_cdf(double x, double a, double b);
double beta_quantile(double p, double a, double b);

double student_t_cdf(double t, double degrees);
double student_t_quantile(double p, double degrees);

}  // namespace kedge::search
