package accountant

import (
	"math"
	"math/rand/v2"
	"testing"
)

// twoSteps returns the exact δ(ε) of an epoch with two steps in which each record takes part in one
// step. For a fixed Y₁, the expectation over Y₂ is the price of a lognormal option. The integral
// over Y₁ is computed numerically.
func twoSteps(sigma, epsilon float64) (remove, add float64) {
	call := func(strike float64) (call, put float64) { // returns E(Y − strike)₊ and E(strike − Y)₊
		if strike <= 0 {
			return 1 - strike, 0
		}
		v := 1 / sigma
		d := (-math.Log(strike) + v*v/2) / v
		call = normalCDF(d) - strike*normalCDF(d-v)
		return call, strike*normalCDF(v-d) - normalCDF(-d)
	}
	const step = 0.001
	for x := -12.0; x <= 12; x += step {
		w := step * normalDensity(x)
		y := math.Exp(x/sigma - 0.5/(sigma*sigma))
		c, _ := call(2*math.Exp(epsilon) - y)
		_, p := call(2*math.Exp(-epsilon) - y)
		remove += w * c / 2
		add += w * math.Exp(epsilon) * p / 2
	}
	return remove, add
}

func TestAllocationOfTwoSteps(t *testing.T) {
	for _, c := range []struct{ sigma, loose, mass float64 }{
		{3, 1e-3, 1e-9},
		{1, 1e-2, 1e-4},
		{0.7, 0.2, 1}, // the cells are coarse compared with the spread of one lognormal variable, but the bound must still hold
	} {
		sigma := c.sigma
		upper, _, err := RandomAllocation{2, 1, sigma, AddRemove}.laws()
		check(t, err)
		for _, epsilon := range []float64{0, 0.3, 1, 2, 4} {
			remove, add := twoSteps(sigma, epsilon)
			for i, d := range []struct{ got, want float64 }{{upper.remove.single(epsilon), remove}, {upper.add.single(epsilon), add}} {
				if d.got < d.want*(1-1e-6)-1e-15 || d.got > d.want*(1+c.loose)+c.mass {
					t.Errorf("σ = %g, ε = %g, direction %d: δ = %g, want %g or slightly more", sigma, epsilon, i, d.got, d.want)
				}
			}
		}
	}
}

// The reference is a simulation of E[(1 − e^(ε−L))₊], where L is the privacy loss. With 4·10⁵
// draws, the standard error is below δ/√(4·10⁵·δ). An error of five standard errors has a
// probability of one in a million.
func TestAllocationBySimulation(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long under the race detector")
	}
	const k, sigma, draws = 50, 1.0, 400_000
	src := rand.New(rand.NewPCG(1, 2))
	upper, _, err := RandomAllocation{k, 1, sigma, AddRemove}.laws()
	check(t, err)
	epsilons := []float64{0, 0.2, 0.5}
	var remove, add [3]float64
	for range draws {
		var null float64
		for range k {
			null += math.Exp(src.NormFloat64()/sigma - 0.5/(sigma*sigma))
		}
		for i, epsilon := range epsilons {
			remove[i] += max(0, null/k-math.Exp(epsilon)) / draws
			add[i] += max(0, 1-math.Exp(epsilon)*null/k) / draws
		}
	}
	for i, epsilon := range epsilons {
		for j, c := range []struct{ got, want float64 }{{upper.remove.single(epsilon), remove[i]}, {upper.add.single(epsilon), add[i]}} {
			if math.Abs(c.got-c.want) > 5*math.Sqrt(c.want/draws)+1e-6 {
				t.Errorf("ε = %g, direction %d: δ = %g, simulated %g", epsilon, j, c.got, c.want)
			}
		}
	}
}

// Random allocation must cost about as much as a Poisson sample at the same rate, and never more
// than releases without amplification.
func TestAllocationBetweenItsNeighbours(t *testing.T) {
	for _, c := range []struct {
		steps  int
		sigma  float64
		epochs int
	}{{100, 1, 1}, {100, 1, 10}, {50, 2, 20}, {1000, 0.7, 1}} {
		const delta = 1e-5
		got := epsilonOf(t, Repeated{RandomAllocation{c.steps, 1, c.sigma, AddRemove}, c.epochs}, delta)
		poisson := epsilonOf(t, poisson(1/float64(c.steps), c.sigma, c.steps*c.epochs, AddRemove), delta)
		none := epsilonOf(t, Repeated{Permutation{c.sigma, ZeroOut}, c.epochs}, delta)
		t.Logf("%+v: allocation %.4g, Poisson %.4g, no amplification %.4g", c, got.Upper, poisson.Upper, none.Upper)
		if got.Upper > none.Upper || got.Upper > 1.5*poisson.Upper || got.Upper < 0.5*poisson.Upper {
			t.Errorf("%+v: ε = %g; Poisson %g, no amplification %g", c, got.Upper, poisson.Upper, none.Upper)
		}
	}
}

func TestAllocationEdges(t *testing.T) {
	same := func(a, b Event) {
		t.Helper()
		if x, y := epsilonOf(t, a, 1e-5).Upper, epsilonOf(t, b, 1e-5).Upper; relative(x, y) > 1e-9 {
			t.Errorf("%+v costs %g, %+v costs %g", a, x, b, y)
		}
	}
	// If there is only one step, or if each record takes part in every step, nothing is random. The
	// cost must then be that of Gaussian releases.
	same(RandomAllocation{1, 1, 2, ZeroOut}, Gaussian{1, 2, ZeroOut})
	same(RandomAllocation{9, 9, 2, ZeroOut}, Repeated{Gaussian{1, 2, ZeroOut}, 9})
	same(RandomAllocation{10, 3, 2, ZeroOut}, Repeated{RandomAllocation{3, 1, 2, ZeroOut}, 3})
	for _, e := range []Event{
		RandomAllocation{3, 4, 1, AddRemove},
		RandomAllocation{3, 0, 1, AddRemove},
		RandomAllocation{3, 1, 0, AddRemove},
		RandomAllocation{3, 1, 1, ReplaceOne},
	} {
		if _, err := Account(e); err == nil {
			t.Errorf("%+v gives no error", e)
		}
	}
}

// The bound on an allocation's Rényi divergence must be the same as for Gaussian releases. In
// particular it is finite, so that a Rényi filter can charge an allocation.
func TestAllocationHasARenyiDivergence(t *testing.T) {
	for _, order := range []float64{1.5, 4, 32} {
		got, err := Renyi(Repeated{RandomAllocation{4, 1, 2, AddRemove}, 3}, order)
		if want := 3 * order / 8; err != nil || math.Abs(got/want-1) > 1e-9 {
			t.Errorf("order %g: %g, %v, want %g, that of three Gaussian releases", order, got, err, want)
		}
	}
	filter, err := NewRenyiFilter(Target{2, 1e-5}, 20, AddRemove)
	check(t, err)
	if err := filter.Charge(RandomAllocation{100, 1, 20, AddRemove}); err != nil {
		t.Error(err)
	}
}
