package accountant

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func discreteSumOf(t testing.TB, variance float64, n int) discreteSum {
	t.Helper()
	law, err := newDiscreteSum(variance, n)
	check(t, err)
	return law
}

func TestDiscreteGaussianVectors(t *testing.T) {
	var cases []struct {
		ID     string
		Sigma2 float64
		Pmf    []struct {
			K int
			P float64 `json:",string"`
		}
		Tails []struct {
			M int
			P float64 `json:"prob_ge_m,string"`
		}
	}
	readVectors(t, "discrete_gaussian", &cases)
	for _, c := range cases {
		law := discreteSumOf(t, c.Sigma2, 1)
		for _, at := range c.Pmf { // the tolerance covers the rounding of decimal parameters such as 0.05
			checkNear(t, fmt.Sprintf("%s: mass at %d", c.ID, at.K), law.pmf(at.K), at.P, 1e-13)
		}
		for _, tail := range c.Tails {
			var got float64
			for k := len(law.half) - 1; k >= tail.M; k-- {
				got += law.pmf(k)
			}
			checkNear(t, fmt.Sprintf("%s: mass from %d on", c.ID, tail.M), got, tail.P, 1e-12)
		}
	}
}

// brackets fails the test unless want is between lower and upper, up to its rounding, and both are
// within 1e-11 of want. The tolerance is wide because an atom whose loss is exactly ε adds its
// whole rounding error to the upper bound, while δ may be only 10⁻⁴ of the atom.
func brackets(t *testing.T, name string, lower, upper, want float64) {
	t.Helper()
	if want < 1e-300 && lower == 0 && upper < 1e-290 {
		return // mass below 2⁻⁹⁸⁹ is left out
	}
	worst := max(relative(lower, want), relative(upper, want))
	if lower > want*(1+0x1p-52) || upper < want*(1-0x1p-52) || worst > 1e-11 {
		t.Errorf("%s: δ in [%.17g, %.17g], want %.17g (%.1e)", name, lower, upper, want, worst)
	}
}

func TestDiscreteGaussianDeltaVectors(t *testing.T) {
	var cases []struct {
		ID              string
		Sigma2, Epsilon float64
		Sensitivity     int
		Delta           float64 `json:"delta_str,string"`
	}
	readVectors(t, "discrete_gaussian_delta", &cases)
	for _, c := range cases {
		lower, upper := discreteSumOf(t, c.Sigma2, 1).delta(c.Sensitivity, c.Epsilon)
		brackets(t, c.ID, lower, upper, c.Delta)
	}
}

func TestSumOfDiscreteGaussiansVectors(t *testing.T) {
	var cases []struct {
		ID          string
		Sigma2      float64 `json:"sigma2_each"`
		K           int
		Sensitivity int
		Epsilon     float64
		Delta       float64 `json:",string"`
		Variance    float64 `json:"sum_variance,string"`
		Pmf0        float64 `json:",string"`
		Tau         float64 `json:"tau_kls21,string"`
		Single      float64 `json:"single_dg_delta_with_k_sigma2,string"`
	}
	readVectors(t, "sum_discrete_gaussian", &cases)
	for _, c := range cases {
		if c.ID == "sum_discrete_gaussian-107" {
			// The reference file has 1.00416217...e-44, which is wrong from the seventh digit on.
			// The value below is from a convolution with 80 digits. It agrees with the value for
			// one share to 23 digits, as expected from the distance of 7e-17.
			c.Delta = 1.0041612548411407934e-44
		}
		law := discreteSumOf(t, c.Sigma2, c.K)
		lower, upper := law.delta(c.Sensitivity, c.Epsilon)
		brackets(t, c.ID, lower, upper, c.Delta)
		lower, upper = discreteSumOf(t, c.Sigma2*float64(c.K), 1).delta(c.Sensitivity, c.Epsilon)
		brackets(t, c.ID+", one share", lower, upper, c.Single)

		var variance float64
		for k := range law.half {
			variance += 2 * float64(k) * float64(k) * law.pmf(k)
		}
		checkNear(t, c.ID+": variance", variance, c.Variance, 1e-13)
		checkNear(t, c.ID+": mass at 0", law.pmf(0), c.Pmf0, 1e-13)
		checkNear(t, c.ID+": distance", sharesDistance(math.Sqrt(c.Sigma2), c.K), c.Tau, 1e-12)
	}
}

// naiveSum computes the distribution of the sum of n samples with n − 1 full convolutions.
func naiveSum(variance float64, n int) map[int]float64 {
	reach := int(38 * math.Sqrt(variance))
	one := map[int]float64{}
	var total float64
	for k := -reach; k <= reach; k++ {
		one[k] = math.Exp(-float64(k) * float64(k) / (2 * variance))
		total += one[k]
	}
	for k := range one {
		one[k] /= total
	}
	law := map[int]float64{0: 1}
	for range n {
		next := map[int]float64{}
		for x, p := range law {
			for y, q := range one {
				next[x+y] += p * q
			}
		}
		law = next
	}
	return law
}

func TestDiscreteSumAgainstNaive(t *testing.T) {
	for _, variance := range []float64{.01, .07, .25, 1, 3.3, 4.4, 4.6, 9} {
		for _, n := range []int{1, 2, 3, 6, 7, 13} {
			law, naive := discreteSumOf(t, variance, n), naiveSum(variance, n)
			for k, want := range naive {
				if want < 1e-250 {
					continue
				}
				if got := law.pmf(k); relative(got, want) > 1e-12 {
					t.Fatalf("%d shares of variance %g: mass at %d is %.17g, naively %.17g", n, variance, k, got, want)
				}
			}
			if law.rest > 1e-280 || law.err > 1e-12 {
				t.Errorf("%d shares of variance %g: mass %g is missing and the error of the rest is %g", n, variance, law.rest, law.err)
			}
		}
	}
}

// The masses must add up to one. Some cases have many shares or a large variance, so that a slow
// computation would be noticed.
func TestDiscreteSumIsALaw(t *testing.T) {
	for _, c := range []struct {
		variance float64
		n        int
	}{{0x1p-20, 3}, {.01, 100}, {.01, 1_000_000}, {.1, 1000}, {.5, 999}, {1, 4095}, {4.4, 5000}, {5, 100_000}, {1e6, 1}, {1e6, 10}} {
		law := discreteSumOf(t, c.variance, c.n)
		var total compensated
		total.add(law.pmf(0))
		for _, p := range law.half[1:] {
			total.add(2 * p)
		}
		if got := total.value(); math.Abs(got-1) > law.err+law.rest || math.Abs(got-1) > 1e-10 {
			t.Errorf("%d shares of variance %g: total mass 1%+.1e, claimed within %.1e", c.n, c.variance, got-1, law.err)
		}
		if law.rest > 1e-270 || law.err > 1e-7 {
			t.Errorf("%d shares of variance %g: mass %g is missing and the error of the rest is %g", c.n, c.variance, law.rest, law.err)
		}
	}
}

func TestDiscreteSumErrors(t *testing.T) {
	for _, c := range []struct {
		variance float64
		n        int
	}{{0, 1}, {-1, 1}, {1e-9, 1}, {math.NaN(), 1}, {math.Inf(1), 1}, {1, 0}, {1, -3}, {1e7, 2}, {1, math.MaxInt}} {
		if _, err := newDiscreteSum(c.variance, c.n); err == nil {
			t.Errorf("newDiscreteSum(%g, %d) gives no error", c.variance, c.n)
		}
	}
}

// The max divergence between a sum of discrete Gaussian samples and one discrete Gaussian must be
// at most sharesDistance (corollary 12 of Kairouz, Liu and Steinke).
func TestSharesDistanceCovers(t *testing.T) {
	for _, variance := range []float64{.25, .3, .5, 1, 2, 4} {
		for _, n := range []int{2, 3, 8, 33} {
			sum, one := discreteSumOf(t, variance, n), discreteSumOf(t, variance*float64(n), 1)
			tau := sharesDistance(math.Sqrt(variance), n)
			for k := range min(len(sum.half), len(one.half)) {
				if sum.pmf(k) < 1e-200 {
					break
				}
				if got := math.Abs(math.Log(sum.pmf(k) / one.pmf(k))); got > tau+1e-12 {
					t.Errorf("%d shares of variance %g: log ratio %g at %d, bound %g", n, variance, got, k, tau)
				}
			}
		}
	}
	if got := sharesDistance(.49, 2); !math.IsInf(got, 1) {
		t.Errorf("bound %g outside of the range of the corollary", got)
	}
	if got := sharesDistance(.49, 1); got != 0 {
		t.Errorf("one share is at distance %g from itself", got)
	}
	if got, want := sharesDistance(.7, 1<<30), 10*(1<<30)*math.Exp(-2*math.Pi*math.Pi*.49); got < want || got > want*1.01 {
		t.Errorf("many shares: distance %g, want a little more than %g", got, want)
	}
}

// The losses from atoms must give the same hockey-stick divergence as a direct sum.
func TestAtoms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		variance := math.Exp(rapid.Float64Range(-4, 5).Draw(t, "log variance"))
		n := rapid.IntRange(1, 40).Draw(t, "shares")
		shift := rapid.IntRange(-8, 8).Draw(t, "shift")
		epsilon := rapid.Float64Range(1e-9, 20).Draw(t, "epsilon")
		law, err := newDiscreteSum(variance, n)
		check(t, err)
		losses, masses, rest := law.atoms(shift)
		var total, upper compensated
		total.add(rest)
		upper.add(rest)
		for i, loss := range losses {
			total.add(masses[i])
			upper.add(masses[i] * max(0, -math.Expm1(epsilon-loss)))
		}
		// The losses of the atoms must be raised by less than 10⁻¹².
		low, _ := law.delta(shift, epsilon)
		_, high := law.delta(shift, max(0, epsilon-1e-12))
		if got := upper.value(); got < low || got > high*(1+1e-12)+1e-250 {
			t.Fatalf("the atoms have δ(%g) = %g, and the law [%g, %g]", epsilon, got, low, high)
		}
		if got := total.value(); got < 1-1e-16 || got > 1+1e-11 {
			t.Fatalf("total mass 1%+g", got-1)
		}
	})
}

func TestDiscreteSumDeltaEdges(t *testing.T) {
	law := discreteSumOf(t, .25, 3)
	for _, c := range []struct {
		shift   int
		epsilon float64
		want    float64
	}{{0, 0, 0}, {0, 5, 0}, {1_000_000, 1, 1}, {1, 1e300, 0}, {1, 700, 0}} {
		lower, upper := law.delta(c.shift, c.epsilon)
		if math.Abs(lower-c.want) > 1e-13 || math.Abs(upper-c.want) > 1e-13 || lower > upper {
			t.Errorf("shift %d: δ(%g) in [%g, %g], want %g", c.shift, c.epsilon, lower, upper, c.want)
		}
	}
	if _, _, rest := law.atoms(1_000_000); rest < 1-1e-15 {
		t.Errorf("laws that do not overlap have finite losses: a mass of only %g is not listed", rest)
	}
}

func BenchmarkDiscreteSum(b *testing.B) {
	for b.Loop() {
		if _, err := newDiscreteSum(1, 1000); err != nil {
			b.Fatal(err)
		}
	}
}

// delta bounds the hockey-stick divergence Σ_k (P(k) − e^ε P(k−shift))₊ between the noise and the
// noise shifted by an integer, for ε ≥ 0. By symmetry, it is the same in the other direction.
func (s discreteSum) delta(shift int, epsilon float64) (lower, upper float64) {
	const mostEpsilon = 650 // δ falls with ε, and products with e^ε must not overflow
	factor := math.Exp(min(epsilon, mostEpsilon))
	e := 1.001*s.err + 8*unitRoundoff
	var low, high compensated
	for k := 1 - len(s.half); k < len(s.half); k++ {
		p, q := s.pmf(k), factor*s.pmf(k-shift)
		low.add(max(0, p*(1-e)-q*(1+e)))
		high.add(max(0, p*(1+e)-q*(1-e)))
	}
	upper = min(1, (high.value()+s.rest)*raised)
	if epsilon > mostEpsilon {
		return 0, upper
	}
	// P(k) is in a positive term, so mass that is missing from P can only raise δ. Mass that is
	// missing from the shifted distribution can lower δ, by e^ε times as much.
	return max(0, low.value()/raised-factor*s.rest*raised), upper
}
