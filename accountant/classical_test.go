package accountant

import (
	"math"
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
	}
	readVectors(t, "composition_theorems", &cases)
	for _, c := range cases {
		eps, del := BasicComposition(c.Epsilon, c.Delta, c.K)
		checkNear(t, c.ID+": ε of basic composition", eps, c.Basic.Eps, 1e-13)
		checkNear(t, c.ID+": δ of basic composition", del, c.Basic.Delta, 1e-13)
		eps, del = AdvancedComposition(c.Epsilon, c.Delta, c.K, c.DeltaPrime)
		checkNear(t, c.ID+": ε of advanced composition", eps, c.Advanced.Eps, 1e-13)
		checkNear(t, c.ID+": δ of advanced composition", del, c.Advanced.Delta, 1e-13)
	}
}

func TestAmplifyVectors(t *testing.T) {
	var cases []struct {
		ID          string
		Epsilon, Q  float64
		Amplified   float64 `json:"eps_amplified_poisson_or_wor"`
		DeltaFactor float64 `json:"delta_factor"`
	}
	readVectors(t, "amplification", &cases)
	for _, c := range cases {
		eps, del := Amplify(c.Epsilon, 1e-5, c.Q)
		checkNear(t, c.ID+": ε", eps, c.Amplified, 1e-14)
		checkNear(t, c.ID+": δ", del, 1e-5*c.DeltaFactor, 1e-14)
	}
}

func TestZCDPVectors(t *testing.T) {
	var cases []struct {
		ID          string
		Rho, Delta  float64
		ExactNormal float64 `json:"eps_exact_gaussian,string"`
	}
	readVectors(t, "zcdp", &cases)
	for _, c := range cases {
		checkNear(t, c.ID, GaussianEpsilon(math.Sqrt(2*c.Rho), c.Delta), c.ExactNormal, 1e-12)
	}
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

// A Gaussian release has the Rényi divergence αρ. No conversion of it may give less than the exact
// ε.
func TestConversionsCoverTheGaussian(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rho := math.Exp(rapid.Float64Range(-20, 6).Draw(t, "log rho"))
		delta := math.Exp(rapid.Float64Range(-60, -.1).Draw(t, "log delta"))
		order := 1 + math.Exp(rapid.Float64Range(-8, 10).Draw(t, "log order"))
		exact := GaussianEpsilon(math.Sqrt(2*rho), delta) * (1 - 1e-12)
		if renyi := RenyiEpsilon(order, order*rho, delta); exact > renyi*(1+1e-12) {
			t.Fatalf("ρ = %g, δ = %g: exact %g, by order %g alone %g", rho, delta, exact, order, renyi)
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
		{1e6, 1e-9, .5, 0},                          // ε is 0 because the total variation distance is below δ
		{1e9, 3, 1e-5, 3},                           // at a large order the result is nearly the max divergence
		{1 + 1e-9, 1, .5, (math.Ln2 - 1e-9) / 1e-9}, // orders close to 1 give no useful bound
	} {
		got := RenyiEpsilon(c.order, c.renyi, c.delta)
		if got != c.want && relative(got, c.want) > 1e-6 {
			t.Errorf("RenyiEpsilon(%g, %g, %g) = %g, want %g", c.order, c.renyi, c.delta, got, c.want)
		}
	}
}
