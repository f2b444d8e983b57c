package audit

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/accountant"
)

func binomialTail(k, n int, p float64) float64 {
	var s float64
	for i := k; i <= n; i++ {
		s += math.Exp(combin.LogGeneralizedBinomial(float64(n), float64(i)) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return s
}

// If a hit had the probability that binomialLower returns, the observed number of hits, or more,
// would have the probability alpha. This defines the bound.
func TestBinomialBounds(t *testing.T) {
	for _, c := range []struct {
		hits, n int
		alpha   float64
	}{{3, 20, .05}, {19, 20, 1e-3}, {40, 100, 1e-9}, {1, 300, 1e-6}, {300, 300, 1e-6}} {
		low := binomialLower(c.hits, c.n, c.alpha)
		if got := binomialTail(c.hits, c.n, low); math.Abs(got/c.alpha-1) > 1e-6 {
			t.Errorf("%d of %d: P(at least so many) = %g at the lower end, want %g", c.hits, c.n, got, c.alpha)
		}
		if up, mirrored := binomialUpper(c.n-c.hits, c.n, c.alpha), 1-low; up != mirrored {
			t.Errorf("%d of %d: upper end %g, want %g", c.n-c.hits, c.n, up, mirrored)
		}
	}
	if low, up := binomialLower(0, 10, .1), binomialUpper(10, 10, .1); low != 0 || up != 1 {
		t.Errorf("nothing and everything: %g and %g", low, up)
	}
	// For zero hits the exact bound is 1 − α^(1/n).
	if got, want := binomialUpper(0, 50, .05), 1-math.Pow(.05, 1./50); math.Abs(got-want) > 1e-12 {
		t.Errorf("upper bound for no hit in 50 trials is %g, want %g", got, want)
	}
}

func TestBinomialP(t *testing.T) {
	if got, want := binomialP(7, 20, .1), 2*binomialTail(7, 20, .1); math.Abs(got-want) > 1e-12 {
		t.Errorf("7 of 20: %g, want %g", got, want)
	}
	if got, want := binomialP(2, 20, .5), 2*binomialTail(18, 20, .5); math.Abs(got-want) > 1e-12 {
		t.Errorf("2 of 20: %g, want %g", got, want)
	}
	for _, c := range []struct{ count, p, want float64 }{{0, 0, 1}, {1, 0, 0}, {5, 1, 1}, {4, 1, 0}} {
		if got := binomialP(c.count, 5, c.p); got != c.want {
			t.Errorf("%g of 5 at %g: %g, want %g", c.count, c.p, got, c.want)
		}
	}
}

// Under the null hypothesis, the share of 4000 p-values that are below .05 has a standard error of
// .0035, so the limits [.033, .067] are five standard errors away.
func TestPValuesAreUniform(t *testing.T) {
	const repeats, n = 4000, 40
	r := rand.New(rand.NewPCG(1, 1))
	below := map[string]int{}
	for range repeats {
		var squares, sab, saa, sbb float64
		cells := make([]float64, 8)
		for range n {
			a, b := r.NormFloat64(), r.NormFloat64()
			squares += a * a
			sab, saa, sbb = sab+a*b, saa+a*a, sbb+b*b
		}
		for range 400 {
			cells[r.IntN(len(cells))]++
		}
		for name, p := range map[string]float64{
			"variance": varianceP(squares, n),
			// correlationP assumes that the two means are estimated. The test knows them, which
			// adds a degree of freedom, so it passes n + 1.
			"correlation": correlationP(sab/math.Sqrt(saa*sbb), n+1),
			"cells":       uniformP(cells),
		} {
			if p < .05 {
				below[name]++
			}
		}
	}
	for _, name := range []string{"variance", "correlation", "cells"} {
		if share := float64(below[name]) / repeats; share < .033 || share > .067 {
			t.Errorf("%s: p < .05 in %.3f of all cases", name, share)
		}
	}
}

func TestChiSquareOfImpossibleCell(t *testing.T) {
	if p := chiSquareP([]float64{10, 1, 20}, []float64{15, 0, 16}); p != 0 {
		t.Errorf("an impossible observation has p = %g", p)
	}
	if p := chiSquareP([]float64{120, 80}, []float64{120, 80}); p != 1 {
		t.Errorf("one cell has p = %g", p)
	}
	// chiSquareP merges the last three cells, because each has an expected count below
	// leastExpected. The two remaining cells have χ² = (120−100)²/100 + (80−100)²/100 = 8.
	want := distuv.ChiSquared{K: 1}.Survival(8)
	if p := chiSquareP([]float64{120, 40, 30, 10}, []float64{100, 50, 50, 0.0001}); math.Abs(p-want) > 1e-4 {
		t.Errorf("p = %g, want %g", p, want)
	}
}

func TestStepDelta(t *testing.T) {
	for _, c := range []struct {
		event                   accountant.Event
		q, with, without, sigma float64
	}{
		{accountant.Gaussian{Sensitivity: 2, Sigma: 1.5, Adjacency: accountant.ReplaceOne}, 1, 1, -1, 1.5},
		{accountant.Poisson{Rate: .3, Sigma: 1.5, Adjacency: accountant.ReplaceOne}, .3, 1, -1, 1.5},
		{accountant.WithoutReplacement{Rate: .3, Sigma: 1.5, Adjacency: accountant.ReplaceOne}, .3, 2, 0, 1.5},
	} {
		profile, err := accountant.Account(c.event)
		check(t, err)
		for _, epsilon := range []float64{0, .5, 1} {
			bound, err := profile.Delta(epsilon)
			check(t, err)
			got := stepDelta(c.q, c.with, c.without, c.sigma, epsilon)
			if math.Abs(got/bound.Upper-1) > 2e-3 {
				t.Errorf("%T: δ(%g) = %g, want %g as from the accountant", c.event, epsilon, got, bound.Upper)
			}
		}
	}
}
