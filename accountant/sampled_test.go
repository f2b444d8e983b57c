package accountant

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// checkUpper fails the test if got is below the exact value want, or if it exceeds it by a relative
// error of more than above.
func checkUpper(t *testing.T, what string, got, want, above float64) {
	t.Helper()
	if got < want*(1-1e-12) || got > want*(1+above) {
		t.Errorf("%s: upper bound %.12g, want at least %.12g and at most %.2g above it (%+.2e)", what, got, want, above, got/want-1)
	}
}

func checkLower(t *testing.T, what string, got, want, below float64) {
	t.Helper()
	if got > want*(1+1e-12) || got < want*(1-below) {
		t.Errorf("%s: lower bound %.12g, want at most %.12g and at least %.2g below it (%+.2e)", what, got, want, below, got/want-1)
	}
}

// check fails the test if err is not nil. It calls Helper only if there is an error, because Helper
// is slow.
func check(t rapid.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// checkBounds checks the two bounds with checkUpper and checkLower.
func checkBounds(t *testing.T, what string, got Bound, want, above, below float64) {
	t.Helper()
	checkUpper(t, what, got.Upper, want, above)
	checkLower(t, what, got.Lower, want, below)
}

func account(t rapid.TB, e Event) Profile {
	t.Helper()
	p, err := Account(e)
	check(t, err)
	return p
}

func epsilonOf(t rapid.TB, e Event, delta float64) Bound {
	t.Helper()
	b, err := account(t, e).Epsilon(delta)
	check(t, err)
	return b
}

func poisson(q, sigma float64, times int, a Adjacency) Event {
	return Repeated{Poisson{q, sigma, a}, times}
}

func TestPoissonVectors(t *testing.T) {
	var cases []struct {
		ID              string
		Q, Sigma, Delta float64
		T               int
		Exact           struct{ Eps float64 }
		RDP             struct{ Eps, Optimal_order float64 }
		RDPContinuous   struct{ Eps float64 } `json:"rdp_continuous_orders"`
	}
	readVectors(t, "subsampled_gaussian_eps", &cases)
	for _, c := range some(cases) {
		p := account(t, poisson(c.Q, c.Sigma, c.T, AddRemove))
		b, err := p.Epsilon(c.Delta)
		check(t, err)
		want := c.Exact.Eps
		checkBounds(t, c.ID, b, want, 2e-4, 5e-4)

		contour, err := p.EpsilonBy(Contour, c.Delta)
		if err != nil {
			// For a few steps at a small sampling rate, the contour integral does not converge.
			t.Logf("%s: q = %g, T = %d: %v", c.ID, c.Q, c.T, err)
		} else if r := relative((contour.Upper+contour.Lower)/2, want); r > 1e-9 || contour.Upper < want*(1-1e-9) {
			t.Errorf("%s: contour %+v, want %.12g (%.1e)", c.ID, contour, want, r)
		}

		renyi, err := p.EpsilonBy(RenyiDP, c.Delta)
		check(t, err)
		if renyi.Upper < want {
			t.Errorf("%s: Rényi ε %g is below the true value %g", c.ID, renyi.Upper, want)
		}
		if c.RDPContinuous.Eps > 0 {
			if r := relative(renyi.Upper, c.RDPContinuous.Eps); r > 1e-6 {
				t.Errorf("%s: Rényi ε over real orders %.10g, want %.10g (%.1e)", c.ID, renyi.Upper, c.RDPContinuous.Eps, r)
			}
		}
		// At fractional orders, the series in the reference file is only an upper bound.
		if order := c.RDP.Optimal_order; c.RDP.Eps > 0 {
			got := RenyiEpsilon(order, p.Renyi(order), c.Delta)
			if got > c.RDP.Eps*(1+1e-6) || order == math.Trunc(order) && got < c.RDP.Eps*(1-1e-6) {
				t.Errorf("%s: Rényi ε at order %g is %.10g, want %.10g", c.ID, order, got, c.RDP.Eps)
			}
		}
	}
}

func TestPoissonDeltaVectors(t *testing.T) {
	var cases []struct {
		ID                string
		Q, Sigma, Epsilon float64
		T                 int
		Exact             struct{ Delta float64 }
	}
	readVectors(t, "subsampled_gaussian_delta", &cases)
	for _, c := range some(cases) {
		p := account(t, poisson(c.Q, c.Sigma, c.T, AddRemove))
		b, err := p.Delta(c.Epsilon)
		check(t, err)
		checkBounds(t, c.ID, b, c.Exact.Delta, 1e-3, 1e-3)
		if b, err := p.DeltaBy(Contour, c.Epsilon); err == nil && relative((b.Upper+b.Lower)/2, c.Exact.Delta) > 1e-8 {
			t.Errorf("%s: contour δ = %+v, want %g", c.ID, b, c.Exact.Delta)
		}
	}
}

func TestReplaceOneVectors(t *testing.T) {
	var cases []struct {
		ID              string
		Q, Sigma, Delta float64
		T               int
		Exact           struct{ Eps float64 }
	}
	readVectors(t, "poisson_replace_one_eps", &cases)
	for _, c := range some(cases) {
		b := epsilonOf(t, poisson(c.Q, c.Sigma, c.T, ReplaceOne), c.Delta)
		checkBounds(t, c.ID, b, c.Exact.Eps, 2e-4, 5e-4)
	}
}

func TestWithoutReplacementVectors(t *testing.T) {
	type value struct{ Eps *float64 }
	var cases []struct {
		ID              string
		Q, Sigma, Delta float64
		T               int
		Upper           value `json:"eps_upper_dominating_pair"`
		Lower           value `json:"eps_lower_single_pair"`
		WBK             value `json:"rdp_wbk19"`
		Renyi           value `json:"rdp_exact_dominating_pair"`
	}
	readVectors(t, "wor_replace_one_eps", &cases)
	for _, c := range some(cases) {
		p := account(t, Repeated{WithoutReplacement{c.Q, c.Sigma, ReplaceOne}, c.T})
		b, err := p.Epsilon(c.Delta)
		check(t, err)
		if c.Upper.Eps != nil {
			checkUpper(t, c.ID, b.Upper, *c.Upper.Eps, 1e-3)
		}
		if c.Lower.Eps != nil {
			checkLower(t, c.ID, b.Lower, *c.Lower.Eps, 1e-3)
			if b.Upper < *c.Lower.Eps {
				t.Errorf("%s: the upper bound %g is below the result %g of an attack", c.ID, b.Upper, *c.Lower.Eps)
			}
		}
		if renyi, err := p.EpsilonBy(RenyiDP, c.Delta); c.Renyi.Eps != nil && (err != nil || relative(renyi.Upper, *c.Renyi.Eps) > 1e-6) {
			t.Errorf("%s: Rényi ε = %+v, %v, want %g", c.ID, renyi, err, *c.Renyi.Eps)
		}
		if fixed, err := p.EpsilonBy(FixedSize, c.Delta); c.WBK.Eps != nil && (err != nil || relative(fixed.Upper, *c.WBK.Eps) > 1e-3) {
			t.Errorf("%s: ε of theorem 27 = %+v, %v, want %g", c.ID, fixed, err, *c.WBK.Eps)
		}
	}
}

func TestHeterogeneousVectors(t *testing.T) {
	var cases []struct {
		ID     string
		Phases []struct {
			Q, Sigma float64
			T        int
		}
		Delta float64
		Exact struct{ Eps float64 }
	}
	readVectors(t, "heterogeneous_eps", &cases)
	for _, c := range some(cases) {
		var all Composed
		for _, p := range c.Phases {
			all = append(all, poisson(p.Q, p.Sigma, p.T, AddRemove))
		}
		b := epsilonOf(t, all, c.Delta)
		checkBounds(t, c.ID, b, c.Exact.Eps, 1e-3, 1e-3)
	}
}

// For hard cases, the reference file has only a lower and an upper bound. This interval must
// overlap with that of the package.
func TestHardBrackets(t *testing.T) {
	var cases []struct {
		ID                   string
		Q, Sigma, Delta      float64
		T                    int
		Eps_lower, Eps_upper float64
		Exact_contour        *float64
	}
	readVectors(t, "hard_brackets", &cases)
	for _, c := range some(cases) {
		b := epsilonOf(t, poisson(c.Q, c.Sigma, c.T, AddRemove), c.Delta)
		if b.Upper < c.Eps_lower || b.Lower > c.Eps_upper {
			t.Errorf("%s: [%g, %g] misses [%g, %g]", c.ID, b.Lower, b.Upper, c.Eps_lower, c.Eps_upper)
		}
		if c.Exact_contour != nil {
			checkBounds(t, c.ID, b, *c.Exact_contour, 2e-4, 5e-4)
		}
	}
}

// At whole orders, the binomial sum for the cumulant must equal the quadrature.
func TestBinomialCumulant(t *testing.T) {
	for _, q := range []float64{1e-4, .01, .3, .9} {
		for _, sigma := range []float64{.5, 1, 4} {
			for _, order := range []float64{64, 65, 200, 1024} {
				c := &composition{steps: []step{{whole(mixture{q, sigma}), 3}}}
				want, _, _ := c.cumulant(order - 1)
				if got, ok := c.binomialCumulant(order); ok && relative(got, want) > 1e-10 {
					t.Errorf("q = %g, σ = %g, order %g: %.15g by the sum, %.15g by quadrature", q, sigma, order, got, want)
				} else if ok != (want/3 > 1e-3) {
					t.Errorf("q = %g, σ = %g, order %g: sum %t for K = %g", q, sigma, order, ok, want)
				}
			}
		}
	}
}

func TestRenyiVectors(t *testing.T) {
	var cases []struct {
		ID                  string
		Q, Sigma, Order     float64
		Rdp_remove, Rdp_add float64
	}
	readVectors(t, "rdp_subsampled_gaussian", &cases)
	for _, c := range some(cases) {
		got, err := Renyi(Poisson{c.Q, c.Sigma, AddRemove}, c.Order)
		if want := max(c.Rdp_remove, c.Rdp_add); err != nil || relative(got, want) > 1e-9 {
			t.Errorf("%s: Rényi divergence %.15g, %v, want %.15g", c.ID, got, err, want)
		}
		for i, want := range []float64{c.Rdp_remove, c.Rdp_add} {
			one := account(t, Poisson{c.Q, c.Sigma, AddRemove}).upper()
			if got := one[min(i, len(one)-1)].renyi(c.Order); relative(got, want) > 1e-11 {
				t.Errorf("%s: direction %d: %.15g, want %.15g", c.ID, i, got, want)
			}
		}
	}
	var fixed []struct {
		ID           string
		Gamma, Order float64
		Sigma        float64  `json:"sigma_over_replace_sensitivity"`
		WBK          *float64 `json:"wbk19_bound_dp_accounting"`
		Exact        *float64 `json:"exact_rdp_symmetrised_dominating_pair"`
	}
	readVectors(t, "rdp_wor", &fixed)
	for _, c := range fixed {
		if got, err := Renyi(WithoutReplacement{c.Gamma, 2 * c.Sigma, ReplaceOne}, c.Order); err != nil || c.Exact != nil && relative(got, *c.Exact) > 1e-9 {
			t.Errorf("%s: Rényi divergence %.15g, %v, want %.15g", c.ID, got, err, *c.Exact)
		}
		if c.WBK != nil && c.Order == math.Trunc(c.Order) {
			if got := newFixedSize(c.Gamma, c.Sigma, int(c.Order)).renyi(int(c.Order)); relative(got, *c.WBK) > 1e-6 {
				t.Errorf("%s: theorem 27 at order %g: %.10g, want %.10g", c.ID, c.Order, got, *c.WBK)
			}
		}
	}
}
