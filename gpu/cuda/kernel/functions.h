// Elementary functions from sums, products and quotients in a fixed order: they need no library
// and have the same bits on every machine.
#pragma once

#include "prelude.h"

// log x for a normal x > 0, as dpmech's portableLog computes it.
FUNCTION double logarithm(double x) {
	u64 bits = bits_of(x);
	int e = (int)(bits >> 52) - 1023;
	double m = double_of((bits & (((u64)1 << 52) - 1)) | (u64)1023 << 52);
	if (m > 0x1.6a09e667f3bcdp0) {
		m /= 2;
		e++;
	}
	double s = (m - 1) / (m + 1), z = s * s, sum = 1. / 23;
	for (double k = 21; k >= 1; k -= 2) sum = sum * z + 1 / k;
	return (double)e * 0x1.62e42feep-1 + (2 * s * sum + (double)e * 0x1.a39ef35793c76p-33);
}

// sin x and cos x for |x| ≤ π/4, as dpmech's portableSinCos computes them.
FUNCTION void sine_cosine(double x, double &sin, double &cos) {
	double z = x * x;
	sin = x * (1 + z * (-1. / 6 + z * (1. / 120 + z * (-1. / 5040 + z * (1. / 362880 + z * (-1. / 39916800 + z * (1. / 6227020800 + z * (-1. / 1307674368000 + z * (1. / 355687428096000)))))))));
	cos = 1 + z * (-1. / 2 + z * (1. / 24 + z * (-1. / 720 + z * (1. / 40320 + z * (-1. / 3628800 + z * (1. / 479001600 + z * (-1. / 87178291200 + z * (1. / 20922789888000 + z * (-1. / 6402373705728000)))))))));
}

// Returns e^x to within two units of the last place: 2^k·e^r, |r| ≤ ½·log 2, by the power
// series up to r^13 (the next term is below 2^-57). NaN stays NaN.
FUNCTION double exponential(double x) {
	if (!(x < 709.8)) return x != x ? x : double_of((u64)0x7ff << 52);
	if (x < -745.2) return 0;
	double scaled = x * 0x1.71547652b82fep0;
	i64 k = (i64)(scaled < 0 ? scaled - .5 : scaled + .5);
	double r = x - (double)k * 0x1.62e42feep-1 - (double)k * 0x1.a39ef35793c76p-33;
	double sum = 1. / 6227020800;
	sum = 1. / 479001600 + r * sum;
	sum = 1. / 39916800 + r * sum;
	sum = 1. / 3628800 + r * sum;
	sum = 1. / 362880 + r * sum;
	sum = 1. / 40320 + r * sum;
	sum = 1. / 5040 + r * sum;
	sum = 1. / 720 + r * sum;
	sum = 1. / 120 + r * sum;
	sum = 1. / 24 + r * sum;
	sum = 1. / 6 + r * sum;
	sum = 1. / 2 + r * sum;
	sum = 1 + r * (1 + r * sum);
	// Two factors, as one may be too large or too small for a number.
	i64 half = k / 2;
	return sum * double_of((u64)(half + 1023) << 52) * double_of((u64)(k - half + 1023) << 52);
}

// 1/(1+e^-x).
DEVICE double logistic(double x) { return 1 / (1 + exponential(-x)); }

// Returns log(1+e^x) for |x| < 700: the log of a number from 1 to 2, corrected for its rounding
// (Kahan), plus x if x is positive.
DEVICE double softplus(double x) {
	double e = exponential(x < 0 ? x : -x), sum = 1 + e;
	double log = sum == 1 ? e : logarithm(sum) - ((sum - 1) - e) / sum;
	return x > 0 ? x + log : log;
}
