// Derivatives of log densities of outcomes in a kernel of their own, for tests.
#include "likelihood.h"

// Writes the derivatives in the predictor and in the logarithm of the spread at count points,
// one in each thread. A point is a predictor and an outcome. numbers are the parameters of
// Outcomes.
KERNEL void outcome_slopes(double *out, u64 family, const double *numbers, const double *points, u64 count) {
	u64 i = global_index();
	if (i >= count) return;
	Outcomes of = {family, numbers[0], numbers[1], numbers[2]};
	double scale = 0;
	out[2 * i] = of.slope(points[2 * i], points[2 * i + 1], &scale);
	out[2 * i + 1] = scale;
}
