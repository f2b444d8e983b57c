package audit

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// binomialLower returns the lower end of a one-sided confidence interval for a probability, from
// hits in n trials. It exceeds the true probability with probability at most alpha (Clopper and
// Pearson 1934).
func binomialLower(hits, n int, alpha float64) float64 {
	if hits == 0 {
		return 0
	}
	// The probability of at least hits successes is the regularised incomplete beta function
	// I_p(hits, n−hits+1), which increases with the success probability p.
	return bisect(func(p float64) bool { return mathext.RegIncBeta(float64(hits), float64(n-hits+1), p) >= alpha })
}

// binomialUpper returns the upper end of a one-sided confidence interval for a probability, from
// hits in n trials. It is below the true probability with probability at most alpha.
func binomialUpper(hits, n int, alpha float64) float64 { return 1 - binomialLower(n-hits, n, alpha) }

// bisect returns the smallest p in [0, 1] for which beyond returns true, rounded down to a float64.
// beyond must be false below some p and true above it.
func bisect(beyond func(p float64) bool) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		if mid := (low + high) / 2; beyond(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return low
}

// twoSided returns a two-sided p-value from the probabilities of the two tails.
func twoSided(lower, upper float64) float64 { return min(1, 2*min(lower, upper)) }

// varianceP returns the two-sided p-value of n normal variates with mean zero and the claimed
// variance. sum is the sum of their squares divided by this variance.
func varianceP(sum float64, n int) float64 {
	k := float64(n) / 2
	return twoSided(mathext.GammaIncReg(k, sum/2), mathext.GammaIncRegComp(k, sum/2))
}

// correlationP returns the two-sided p-value of the sample correlation r of n independent pairs of
// normal variates, from Student's t.
func correlationP(r float64, n int) float64 {
	if r = math.Abs(r); r >= 1 {
		return 0
	}
	t := r * math.Sqrt(float64(n-2)/(1-r*r))
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 2)}.Survival(t)
}

// binomialP returns the two-sided p-value of count successes in n independent trials with success
// probability p.
func binomialP(count float64, n int, p float64) float64 {
	switch {
	case p <= 0 && count > 0, p >= 1 && count < float64(n):
		return 0
	case p <= 0 || p >= 1:
		return 1
	}
	lower, upper := 1.0, 1.0
	if count < float64(n) {
		lower = mathext.RegIncBeta(float64(n)-count, count+1, 1-p)
	}
	if count > 0 {
		upper = mathext.RegIncBeta(count, float64(n)-count+1, p)
	}
	return twoSided(lower, upper)
}

// chiSquareP returns the p-value of Pearson's χ² test. It merges neighbouring cells until every
// cell has an expected count of at least leastExpected. If an observation has probability zero, the
// p-value is zero.
func chiSquareP(observed, expected []float64) float64 {
	type cell struct{ o, e float64 }
	var cells []cell
	var c cell
	for i := range expected {
		if expected[i] == 0 && observed[i] > 0 {
			return 0
		}
		c.o += observed[i]
		if c.e += expected[i]; c.e >= leastExpected {
			cells = append(cells, c)
			c = cell{}
		}
	}
	if len(cells) < 2 {
		return 1
	}
	last := &cells[len(cells)-1]
	last.o, last.e = last.o+c.o, last.e+c.e
	var statistic float64
	for _, c := range cells {
		statistic += (c.o - c.e) * (c.o - c.e) / c.e
	}
	return distuv.ChiSquared{K: float64(len(cells) - 1)}.Survival(statistic)
}

// leastExpected is the smallest expected count that chiSquareP allows in a cell. An audit needs
// correct p-values down to 1e-10, and the χ² distribution gives these only for large counts. With
// 10 expected in one of three cells, the statistic exceeds the χ² bound for the probability 3e-10
// with probability 8e-8, which is 270 times too often. With 100, it exceeds the bound twice as
// often as it should with three cells, and less often with five.
const leastExpected = 100

// uniformP is chiSquareP for cells that are equally likely.
func uniformP(observed []float64) float64 {
	n := len(observed)
	return chiSquareP(observed, slices.Repeat([]float64{floats.Sum(observed) / float64(n)}, n))
}
