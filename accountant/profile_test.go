package accountant

import (
	"math"
	"strings"
	"testing"
)

// Gaussian releases must compose to a Gaussian release with μ² = Σμ² (corollary 3.3 of Dong, Roth,
// Su 2022).
func TestComposition(t *testing.T) {
	parts := Composed{
		Repeated{Gaussian{Sensitivity: 1, Sigma: 10, Adjacency: ZeroOut}, 64},
		Gaussian{Sensitivity: 3, Sigma: 5, Adjacency: ZeroOut},
		Composed{},
	}
	if got, want := account(t, parts).Mu(), 1.0; math.Abs(got-want) > 1e-12 {
		t.Errorf("μ = %.15g, want %g", got, want)
	}
	if got := account(t, Composed{}).Mu(); got != 0 {
		t.Errorf("μ = %g for no release", got)
	}
	if b, err := account(t, Composed{}).Epsilon(1e-5); b.Upper != 0 || err != nil {
		t.Errorf("ε = %g, %v for no release", b.Upper, err)
	}
}

func TestEventErrors(t *testing.T) {
	good := Gaussian{1, 1, AddRemove}
	for _, c := range []struct {
		event Event
		want  string
	}{
		{nil, "no event"},
		{Composed{good, nil}, "nil event"},
		{Repeated{nil, 3}, "want an event"},
		{Repeated{good, -1}, "≥ 0"},
		{Gaussian{1, 0, AddRemove}, "sigma must be positive"},
		{Gaussian{1, math.NaN(), AddRemove}, "sigma must be positive"},
		{Gaussian{-1, 1, AddRemove}, "sensitivity must be non-negative"},
		{Gaussian{1, 1, "nearby"}, `unknown adjacency "nearby"`},
		{Composed{good, Gaussian{1, 1, ReplaceOne}}, "cannot add a release accounted under"},
		{Gaussian{1e200, 1, AddRemove}, "overflows a float64"},
		{Repeated{Gaussian{1e154, 1, AddRemove}, 100}, "overflows a float64"},
		{DiscreteGaussian{1, 100, 1, 2, AddRemove}, "sigma must be at least 1024"},
		{DiscreteGaussian{1, 1 << 20, 0, 1, AddRemove}, "shares must be at least 1"},
		{DiscreteGaussian{1, 1 << 20, 1, 0, AddRemove}, "dimension must be at least 1"},
	} {
		if _, err := Account(c.event); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Account(%+v): %v, want an error with %q", c.event, err, c.want)
		}
	}
}

func TestProfileErrors(t *testing.T) {
	p := account(t, Gaussian{1, 1, AddRemove})
	for _, delta := range []float64{0, 1, -1, math.NaN()} {
		if _, err := p.Epsilon(delta); err == nil {
			t.Errorf("Epsilon(%g) gives no error", delta)
		}
	}
	for _, epsilon := range []float64{-1, math.NaN(), math.Inf(1)} {
		if _, err := p.Delta(epsilon); err == nil {
			t.Errorf("Delta(%g) gives no error", epsilon)
		}
	}
}

// exactDelta returns the hockey-stick divergence between N_Z(0, σ²) and its shift by k. It is a sum
// over the integers.
func exactDelta(sigma float64, k int, epsilon float64) float64 {
	reach := int(14*sigma) + k
	var norm, delta float64
	for x := -reach; x <= reach; x++ {
		norm += math.Exp(-float64(x) * float64(x) / (2 * sigma * sigma))
	}
	for x := -reach; x <= reach; x++ {
		p := math.Exp(-float64(x-k) * float64(x-k) / (2 * sigma * sigma))
		q := math.Exp(epsilon - float64(x)*float64(x)/(2*sigma*sigma))
		delta += max(0, p-q)
	}
	return delta / norm
}

func TestDiscreteGaussianIsCovered(t *testing.T) {
	const sigma = 1024
	for _, k := range []int{100, 512, 1024, 3000} {
		p := account(t, DiscreteGaussian{Sensitivity: float64(k), Sigma: sigma, Shares: 1, Dim: 1, Adjacency: AddRemove})
		for _, epsilon := range []float64{0, .1, .5, 1, 2, 5} {
			want := exactDelta(sigma, k, epsilon)
			b, err := p.Delta(epsilon)
			check(t, err)
			got := b.Upper
			if got < want*(1-1e-9) || b.Lower > want*(1+1e-9)+1e-40 {
				t.Errorf("shift %d: δ(%g) = %g, and exactly %g", k, epsilon, got, want)
			}
			if want > 1e-12 && got > want*(1+1e-4) {
				t.Errorf("shift %d: δ(%g) = %g is loose, exactly %g", k, epsilon, got, want)
			}
		}
	}
}

// The log ratio between the rounded Gaussian of variance s² − 1/12 and the discrete Gaussian must
// be −He₄(k/s)/(2880 s⁴), up to higher orders.
func TestRoundingDivergence(t *testing.T) {
	for _, s := range []float64{16, 32, 64} {
		v := s*s - 1.0/12
		norm := s * math.Sqrt(2*math.Pi)
		for k := 0.0; k <= 5*s; k += s / 4 {
			// In the tails, Erfc is accurate to full relative precision.
			rounded := (math.Erfc((k-.5)/math.Sqrt(2*v)) - math.Erfc((k+.5)/math.Sqrt(2*v))) / 2
			discrete := math.Exp(-k*k/(2*s*s)) / norm
			z := k / s
			hermite := z*z*z*z - 6*z*z + 3
			got, want := math.Log(rounded/discrete), -hermite/(2880*s*s*s*s)
			if math.Abs(got-want) > 1e-12+.2*math.Abs(want)+20/(2880*s*s*s*s*s*s)*math.Pow(1+z, 6) {
				t.Errorf("s = %g, k = %g: log ratio %g, leading term %g", s, k, got, want)
			}
			if bound := 2 * roundingDivergence(s, max(2.5, z)); math.Abs(got) > bound+1e-12 {
				t.Errorf("s = %g, k = %g: log ratio %g beyond the bound %g", s, k, got, bound)
			}
		}
	}
}

// The noise is as large as in the project's mechanisms.
func TestDiscreteAgreesWithContinuous(t *testing.T) {
	const sigma = 1 << 23
	discrete := account(t, Repeated{DiscreteGaussian{Sensitivity: float64(sigma) / 5, Sigma: sigma, Shares: 16, Dim: 1_000_000, Adjacency: ZeroOut}, 1000})
	continuous := account(t, Repeated{Gaussian{Sensitivity: 1, Sigma: 5 * 4, Adjacency: ZeroOut}, 1000})
	for _, delta := range []float64{1e-15, 1e-9, 1e-5, .1} {
		d, err1 := discrete.Epsilon(delta)
		c, err2 := continuous.Epsilon(delta)
		if err1 != nil || err2 != nil || d.Upper < c.Upper*(1-1e-9) || d.Upper > c.Upper*(1+1e-6) || d.Lower > c.Upper || d.Lower < c.Upper*(1-1e-6) {
			t.Errorf("δ = %g: ε = %+v and %+v, %v, %v", delta, d, c, err1, err2)
		}
	}
}

// After a large release, many small ones must not get lost by rounding.
func TestCompositionRoundsUp(t *testing.T) {
	events := Composed{Gaussian{1, 1, AddRemove}}
	for range 1 << 16 {
		events = append(events, Gaussian{0x1p-27, 1, AddRemove})
	}
	if got, want := account(t, events).Mu(), math.Sqrt(1+0x1p16*0x1p-54); got < want {
		t.Errorf("μ = %.17g is below %.17g", got, want)
	}
}
