package program_test

import (
	"fmt"
	"math"
	"testing"

	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/program"
)

// For a probability p, log(p) and log(1 − p) are accurate even if p or 1 − p would be rounded to 0.
func TestProbabilitiesNearZeroAndOne(t *testing.T) {
	const logPhi40 = -804.608442 // log Φ(−40), from the asymptotic series
	for _, c := range []struct {
		p       string
		a       float64
		no, yes float64 // log probabilities of the outcomes 0 and 1
	}{
		{"Phi(a)", -40, 0, logPhi40},
		{"Phi(a)", 40, logPhi40, 0},
		{"inv_logit(a)", -800, 0, -800},
		{"inv_logit(a)", 800, -800, 0},
		{"-expm1(-exp(a))", 5, -math.Exp(5), -math.Exp(-math.Exp(5))},
		{"-expm1(-exp(a))", -700, 0, -700},
	} {
		for _, density := range []string{"bernoulli(%s)", "binomial(1, %s)"} {
			text := fmt.Sprintf("data { int N; array[N] int<lower=0, upper=1> y; }\nparameters { real a; }\nmodel { a ~ normal(0, 1); y ~ %s; }", fmt.Sprintf(density, c.p))
			m := compiled(t, text, program.Data{Name: "tail", Records: "N", Columns: map[string]ir.Column{"y": {Name: "y", Upper: 1, Integer: true}}})
			table, err := m.Load(2, [][]float64{{0, 1}})
			check(t, err)
			got := make([]float64, 2)
			m.LogDensities(got, []float64{c.a}, table)
			for y, want := range []float64{c.no, c.yes} {
				if !(math.Abs(got[y]-want) <= 1e-9*max(1, math.Abs(want))) {
					t.Errorf("%s, a = %g, y = %d: %g, want %g", text, c.a, y, got[y], want)
				}
			}
		}
	}
}
