package accountant

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestCompositionVectors(t *testing.T) {
	type guarantee struct {
		Eps   float64 `json:",string"`
		Delta float64 `json:",string"`
	}
	var cases []struct {
		ID             string
		Epsilon, Delta float64
		K              int
		DeltaPrime     float64 `json:"delta_prime"`
		Basic          struct{ Eps, Delta float64 }
		Advanced       guarantee `json:"advanced_drv10"`
		Optimal        guarantee `json:"kov15_optimal"`
	}
	readVectors(t, "composition_theorems", &cases)
	worst := 0.0
	for _, c := range cases {
		check := func(theorem string, eps, del, wantEps, wantDel float64) {
			e := max(relative(eps, wantEps), relative(del, wantDel))
			worst = max(worst, e)
			if e > 1e-13 {
				t.Errorf("%s: %s composition gives (%.17g, %.17g), want (%.17g, %.17g)", c.ID, theorem, eps, del, wantEps, wantDel)
			}
		}
		eps, del := BasicComposition(c.Epsilon, c.Delta, c.K)
		check("basic", eps, del, c.Basic.Eps, c.Basic.Delta)
		eps, del = AdvancedComposition(c.Epsilon, c.Delta, c.K, c.DeltaPrime)
		check("advanced", eps, del, c.Advanced.Eps, c.Advanced.Delta)
		eps, del = OptimalComposition(c.Epsilon, c.Delta, c.K, c.DeltaPrime)
		check("optimal", eps, del, c.Optimal.Eps, c.Optimal.Delta)
	}
	t.Logf("worst relative error %.1e", worst)
}

func TestAmplifyVectors(t *testing.T) {
	var cases []struct {
		ID          string
		Epsilon, Q  float64
		Amplified   float64 `json:"eps_amplified_poisson_or_wor"`
		DeltaFactor float64 `json:"delta_factor"`
	}
	readVectors(t, "amplification", &cases)
	worst := 0.0
	for _, c := range cases {
		eps, del := Amplify(c.Epsilon, 1e-5, c.Q)
		e := max(relative(eps, c.Amplified), relative(del, 1e-5*c.DeltaFactor))
		worst = max(worst, e)
		if e > 1e-14 {
			t.Errorf("%s: Amplify(%g, 1e-5, %g) = (%.17g, %.17g), want %.17g", c.ID, c.Epsilon, c.Q, eps, del, c.Amplified)
		}
	}
	t.Logf("worst relative error %.1e", worst)
}

func TestZCDPVectors(t *testing.T) {
	var cases []struct {
		ID          string
		Rho, Delta  float64
		CKS         float64 `json:"eps_cks20,string"`
		BunSteinke  float64 `json:"eps_bun_steinke,string"`
		ExactNormal float64 `json:"eps_exact_gaussian,string"`
	}
	readVectors(t, "zcdp", &cases)
	var worst, worstOld, worstExact float64
	for _, c := range cases {
		got, old := ZCDPEpsilon(c.Rho, c.Delta), ZCDPEpsilonBunSteinke(c.Rho, c.Delta)
		exact := GaussianEpsilon(math.Sqrt(2*c.Rho), c.Delta)
		worst, worstOld = max(worst, relative(got, c.CKS)), max(worstOld, relative(old, c.BunSteinke))
		worstExact = max(worstExact, relative(exact, c.ExactNormal))
		if relative(got, c.CKS) > 1e-13 || relative(old, c.BunSteinke) > 1e-14 || relative(exact, c.ExactNormal) > 1e-12 {
			t.Errorf("%s: ε = %.17g, %.17g, %.17g (CKS20, BS16, exact), want %.17g, %.17g, %.17g", c.ID, got, old, exact, c.CKS, c.BunSteinke, c.ExactNormal)
		}
	}
	t.Logf("worst relative errors: CKS20 %.1e, BS16 %.1e, exact Gaussian %.1e", worst, worstOld, worstExact)
}

// Theorem 3.3 of Kairouz, Oh and Viswanath as it is printed, in 300 bits.
func printedOptimalDelta(epsilon float64, k, i int) float64 {
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
	power := func(base *big.Float, n int) *big.Float {
		p := number(1)
		for range n {
			p.Mul(p, base)
		}
		return p
	}
	e := number(math.Exp(epsilon)) // the test below takes an ε for which it is exact
	sum := number(0)
	for l := range i {
		choose := new(big.Float).SetPrec(300).SetInt(new(big.Int).Binomial(int64(k), int64(l)))
		difference := new(big.Float).Sub(power(e, k-l), power(e, k-2*i+l))
		sum.Add(sum, choose.Mul(choose, difference))
	}
	got, _ := sum.Quo(sum, power(new(big.Float).Add(number(1), e), k)).Float64()
	return got
}

func TestOptimalDelta(t *testing.T) {
	for _, base := range []float64{2, 1.25, 1 + 0x1p-10} {
		epsilon := math.Log(base)
		for _, k := range []int{1, 2, 7, 40, 400} {
			for i := 0; i <= k/2; i += 1 + k/17 {
				got, want := optimalDelta(epsilon, k, i), printedOptimalDelta(epsilon, k, i)
				if r := relative(got, want); r > 1e-11 {
					t.Errorf("δ_%d of %d releases at ε = log %g: %g, want %g (%.1e)", i, k, base, got, want, r)
				}
			}
		}
	}
}

// The optimum is no worse than the other two, at no more δ.
func TestOptimalIsOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon := math.Exp(rapid.Float64Range(-9, 1.5).Draw(t, "log epsilon"))
		delta := rapid.SampledFrom([]float64{0, 1e-12, 1e-7}).Draw(t, "delta")
		k := rapid.IntRange(1, 500).Draw(t, "k")
		slack := math.Exp(rapid.Float64Range(-40, -3).Draw(t, "log slack"))
		basic, basicDelta := BasicComposition(epsilon, delta, k)
		advanced, advancedDelta := AdvancedComposition(epsilon, delta, k, slack)
		optimal, optimalDelta := OptimalComposition(epsilon, delta, k, slack)
		if optimal > min(basic, advanced+2*epsilon)*(1+1e-12) {
			t.Fatalf("optimal ε = %g above basic %g or advanced %g", optimal, basic, advanced)
		}
		if !(optimalDelta >= 0 && optimalDelta <= advancedDelta*(1+1e-12)) || basicDelta > advancedDelta {
			t.Fatalf("δ = %g (optimal), %g (basic), %g (advanced)", optimalDelta, basicDelta, advancedDelta)
		}
	})
}

func TestAmplify(t *testing.T) {
	for _, c := range []struct{ epsilon, q, want float64 }{
		{1, 0, 0},
		{0, .5, 0},
		{2, 1, 2},
		{1e5, .5, 1e5 - math.Ln2},
		{1e300, 1e-300, 1e300},
		{1000, 1e-300, 1000 - 300*math.Ln10},
		{700, math.Exp(-700), math.Ln2},
		{1e-10, 1e-10, 1e-20},
		{math.Nextafter(700, 0), .01, 700 - math.Log(100)},
		{700, .01, 700 - math.Log(100)},
	} {
		got, _ := Amplify(c.epsilon, 0, c.q)
		if math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("Amplify(%g, 0, %g) = %.17g, want %.17g", c.epsilon, c.q, got, c.want)
		}
		if got > c.epsilon {
			t.Errorf("Amplify(%g, 0, %g) = %.17g is no amplification", c.epsilon, c.q, got)
		}
	}
}

// No conversion beats the exact profile of the Gaussian, which is ρ-zCDP and of
// Rényi divergence αρ.
func TestConversionsCoverTheGaussian(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rho := math.Exp(rapid.Float64Range(-20, 6).Draw(t, "log rho"))
		delta := math.Exp(rapid.Float64Range(-60, -.1).Draw(t, "log delta"))
		order := 1 + math.Exp(rapid.Float64Range(-8, 10).Draw(t, "log order"))
		exact := GaussianEpsilon(math.Sqrt(2*rho), delta) * (1 - 1e-12)
		cks, old := ZCDPEpsilon(rho, delta), ZCDPEpsilonBunSteinke(rho, delta)
		renyi := RenyiEpsilon(order, order*rho, delta)
		if exact > cks || cks > old || cks > renyi*(1+1e-12) {
			t.Fatalf("ρ = %g, δ = %g: exact %g, CKS20 %g, BS16 %g, order %g alone %g", rho, delta, exact, cks, old, order, renyi)
		}
	})
}

func TestRenyiBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := 1 + math.Exp(rapid.Float64Range(-8, 10).Draw(t, "log order"))
		epsilon := math.Exp(rapid.Float64Range(-10, 8).Draw(t, "log epsilon"))
		delta := math.Exp(rapid.Float64Range(-60, -.1).Draw(t, "log delta"))
		budget := RenyiBudget(order, epsilon, delta)
		if !(budget >= 0) || math.IsInf(budget, 0) {
			t.Fatalf("budget %g", budget)
		}
		if got := RenyiEpsilon(order, budget, delta); got > epsilon {
			t.Fatalf("the budget %g misses: ε = %g > %g", budget, got, epsilon)
		}
		if got := RenyiEpsilon(order, math.Nextafter(budget, math.Inf(1)), delta); got <= epsilon {
			t.Fatalf("the budget %g is not the largest: ε = %g ≤ %g", budget, got, epsilon)
		}
	})
}

func TestRenyiEpsilon(t *testing.T) {
	for _, c := range []struct{ order, renyi, delta, want float64 }{
		{2, 0, 1e-5, 0},
		{2, math.Inf(1), 1e-5, math.Inf(1)},
		{2, 1, 1e-5, 1 - math.Ln2 + math.Log(1e5) - math.Ln2},
		{64, .5, 1e-6, .5 + math.Log(63.0/64) - (math.Log(1e-6)+math.Log(64))/63},
		{1e6, 1e-9, .5, 0},                          // within total variation δ
		{1e9, 3, 1e-5, 3},                           // the max divergence, nearly
		{1 + 1e-9, 1, .5, (math.Ln2 - 1e-9) / 1e-9}, // nothing can be had from α → 1
	} {
		got := RenyiEpsilon(c.order, c.renyi, c.delta)
		if got != c.want && relative(got, c.want) > 1e-6 {
			t.Errorf("RenyiEpsilon(%g, %g, %g) = %g, want %g", c.order, c.renyi, c.delta, got, c.want)
		}
	}
}
