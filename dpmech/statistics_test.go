package dpmech_test

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// draws is the sample size of statistical tests. Use 10⁷ for a thorough test.
var draws = flag.Int("draws", 400_000, "size of the samples of statistical tests")

// A pmf contains the probabilities of N_Z(0, σ²) on [−reach, reach], with reach ≥ 9σ + 9.
type pmf struct {
	reach int
	p     []float64 // probabilities of −reach, ..., reach
}

func newPMF(sigma float64) pmf {
	law := pmf{reach: int(9*sigma) + 9}
	for k := -law.reach; k <= law.reach; k++ {
		law.p = append(law.p, dpmech.GaussianMass(float64(k), sigma))
	}
	return law
}

func (l pmf) at(k int) float64 { return l.p[l.reach+k] }

func (l pmf) from(m int) (total float64) {
	for k := l.reach; k >= m; k-- {
		total += l.at(k)
	}
	return total
}

// The reference probabilities of these tests must agree with an independent file of exact values.
func TestLawIsThatOfTheVectors(t *testing.T) {
	var vectors struct {
		Cases []struct {
			Sigma2 float64
			PMF    []struct {
				K int
				P float64 `json:",string"`
			}
			Tails []struct {
				M      int
				ProbGE float64 `json:"prob_ge_m,string"`
			}
		} `json:"discrete_gaussian"`
	}
	readVectors(t, &vectors)
	compare := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-11*want {
			t.Errorf("%s is %g, want %g", what, got, want)
		}
	}
	for _, c := range vectors.Cases {
		law := newPMF(math.Sqrt(c.Sigma2))
		for _, p := range c.PMF {
			compare(fmt.Sprintf("σ² = %g: P(%d)", c.Sigma2, p.K), law.at(p.K), p.P)
		}
		for _, p := range c.Tails {
			if p.M <= int(6*math.Sqrt(c.Sigma2)) { // the reference distribution is too short for larger values
				compare(fmt.Sprintf("σ² = %g: P(≥ %d)", c.Sigma2, p.M), law.from(p.M), p.ProbGE)
			}
		}
	}
	if len(vectors.Cases) == 0 {
		t.Error("the file has no discrete Gaussian")
	}
}

// cells divides the integers into cells for a χ² test. Cell i ends at the integer last[i] and has
// the probability p[i].
type cells struct {
	last []int64
	p    []float64
}

func (c cells) of(x int64) int {
	i, _ := slices.BinarySearch(c.last, x)
	return i
}

// cellsOf returns the cells for a σ. For a small σ, each integer is a cell. For a large σ, there
// are 100 cells of about the same probability. P(x ≤ m) is Φ((m+½)/σ) up to 0.011/σ². For σ ≥ 1000,
// this error is 3000 times smaller than the resolution of 10⁷ draws.
func cellsOf(sigma float64) cells {
	var c cells
	if sigma < 1000 {
		law := newPMF(sigma)
		for k := -law.reach; k < law.reach; k++ {
			c.last = append(c.last, int64(k))
		}
		c.p = law.p
		return c
	}
	const n = 100
	below := 0.0
	for i := 1; i < n; i++ {
		m := math.Floor(sigma * distuv.UnitNormal.Quantile(float64(i)/n))
		upTo := distuv.UnitNormal.CDF((m + .5) / sigma)
		c.last, c.p = append(c.last, int64(m)), append(c.p, upTo-below)
		below = upTo
	}
	c.p = append(c.p, 1-below)
	return c
}

func (c cells) chiSquare(observed []float64, n int) float64 {
	expected := make([]float64, len(c.p))
	for i, p := range c.p {
		expected[i] = p * float64(n)
	}
	return chiSquare(observed, expected)
}

// moments returns the variance and the fourth moment of N_Z(0, σ²). Both equal the moments of the
// continuous Gaussian up to e^(−2π²σ²).
func moments(sigma float64) (second, fourth float64) {
	if sigma > 10 {
		return sigma * sigma, 3 * math.Pow(sigma, 4)
	}
	law := newPMF(sigma)
	for k := -law.reach; k <= law.reach; k++ {
		x := float64(k)
		second += law.at(k) * x * x
		fourth += law.at(k) * x * x * x * x
	}
	return second, fourth
}

// The test checks the frequencies, moments and signs of samples, and the independence of
// neighbours. Each check rejects a correct sampler with probability at most rejectBelow (4.42
// standard errors, two-sided).
func TestDiscreteGaussianStatistics(t *testing.T) {
	long(t)
	const standardErrors = 4.42
	n := float64(*draws)
	for _, ratio := range dpmech.Sigmas {
		g := newGaussianRatio(t, int64(ratio[0]), int64(ratio[1]))
		sigma := g.Sigma()
		t.Run(fmt.Sprint(ratio[0], "over", ratio[1]), func(t *testing.T) {
			src := seeded.Stream(11, "statistics", ratio[0], ratio[1])
			cells := cellsOf(sigma)
			observed := make([]float64, len(cells.p))
			var sum, squares, products, positive, negative, previous float64
			samples := make([]int64, *draws)
			g.Fill(samples, src)
			for _, x := range samples {
				observed[cells.of(x)]++
				z := float64(x) / sigma
				sum += z
				squares += z * z
				products += z * previous
				previous = z
				if x > 0 {
					positive++
				} else if x < 0 {
					negative++
				}
			}
			if p := cells.chiSquare(observed, *draws); p < rejectBelow {
				t.Errorf("χ² rejects the sampler, p = %.2g", p)
			} else {
				t.Logf("χ²: p = %.3g", p)
			}
			second, fourth := moments(sigma)
			second, fourth = second/(sigma*sigma), fourth/math.Pow(sigma, 4)
			near := func(what string, got, want, sd float64) {
				if math.Abs(got-want) > standardErrors*sd {
					t.Errorf("%s is %g, want %g ± %g", what, got, want, sd)
				}
			}
			near("mean", sum/n, 0, math.Sqrt(second/n))
			near("variance", squares/n, second, math.Sqrt((fourth-second*second)/n))
			near("covariance of neighbours", products/n, 0, second/math.Sqrt(n))
			near("excess of positive signs", positive-negative, 0, math.Sqrt(positive+negative))
		})
	}
}

// The test counts the samples far out in the tails. The count has nearly a Poisson distribution.
func TestDiscreteGaussianTails(t *testing.T) {
	long(t)
	for _, c := range []struct {
		num, den int64
		from     int
	}{{3, 10, 2}, {1, 1, 4}, {10, 1, 41}, {100, 1, 401}} {
		g := newGaussianRatio(t, c.num, c.den)
		src := seeded.Stream(12, "tails", uint64(c.num))
		beyond := 0.0
		n := 10 * *draws
		for range n {
			if x := g.Sample(src); x >= int64(c.from) || -x >= int64(c.from) {
				beyond++
			}
		}
		mean := 2 * newPMF(g.Sigma()).from(c.from) * float64(n)
		law := distuv.Poisson{Lambda: mean}
		if low, high := law.CDF(beyond), 1-law.CDF(beyond-1); low < rejectBelow/2 || high < rejectBelow/2 {
			t.Errorf("σ = %g: %g of %d draws are %d or beyond, want %.1f", g.Sigma(), beyond, n, c.from, mean)
		}
	}
}

// For a given seed and an integer σ, the samples must not change between versions.
func TestDiscreteGaussianGolden(t *testing.T) {
	for _, c := range []struct {
		sigma int64
		want  [6]int64
	}{
		{1, [6]int64{-1, 0, 0, 0, 1, 1}},
		{10, [6]int64{5, 1, -5, 0, -3, -6}},
		{1 << 20, [6]int64{-1527665, -363433, 892169, -1521912, 654314, 2081594}},
		{dpmech.MaxSigma, [6]int64{-11374435, 51959680, -125741302, -17641969, 12703471, -5731266}},
	} {
		g := newGaussianRatio(t, 3*c.sigma, 3) // 3σ/3 is reduced to σ/1
		var got [6]int64
		g.Fill(got[:], seeded.Stream(7, "golden", uint64(c.sigma)))
		if got != c.want {
			t.Errorf("σ = %d: %v, want %v", c.sigma, got, c.want)
		}
	}
}

func TestDiscreteGaussianRatioRange(t *testing.T) {
	for _, c := range [][2]int64{
		{0, 1},
		{1, 0},
		{-1, 2},
		{1, -2},
		{1<<31 + 1, 1 << 10},
		{1, 1<<31 + 1},
		{dpmech.MaxSigma*2 + 1, 2},
		{math.MinInt64, 1},
		{1, math.MinInt64},
		{math.MaxInt64, math.MaxInt64},
	} {
		if _, err := dpmech.NewDiscreteGaussianRatio(c[0], c[1]); err == nil {
			t.Errorf("σ = %d/%d gives no error", c[0], c[1])
		}
	}
	for _, c := range [][2]int64{{1, 1 << 31}, {1 << 31, 32}, {1<<31 - 1, 1 << 31}, {dpmech.MaxSigma*2 - 1, 2}} {
		if _, err := dpmech.NewDiscreteGaussianRatio(c[0], c[1]); err != nil {
			t.Errorf("σ = %d/%d: %v", c[0], c[1], err)
		}
	}
}

// The fuzzer checks, for any σ and any stream, that samples are within the bound and that nothing
// overflows.
func FuzzDiscreteGaussian(f *testing.F) {
	f.Add(int64(3), int64(10), uint64(1))
	f.Add(int64(1)<<31, int64(32), uint64(2))
	f.Add(int64(1), int64(1)<<31, uint64(3))
	f.Fuzz(func(t *testing.T, num, den int64, seed uint64) {
		g, err := dpmech.NewDiscreteGaussianRatio(num, den)
		if err != nil {
			if num >= 1 && num <= 1<<26 && den >= 1 && den <= 1<<26 {
				t.Fatalf("%d/%d is refused: %v", num, den, err)
			}
			return
		}
		if bound := float64(g.Bound()); bound < math.Floor(g.Sigma()*(1<<20)) {
			t.Fatalf("%d/%d: bound %g is below 2^20·σ", num, den, bound)
		}
		src := seeded.Stream(seed, "fuzz")
		for range 50 {
			// A sample exceeds 20σ + 1 once in 10^88 draws.
			if x := g.Sample(src); math.Abs(float64(x)) > 20*g.Sigma()+1 || x > g.Bound() || -x > g.Bound() {
				t.Fatalf("%d/%d: drew %d", num, den, x)
			}
		}
	})
}
