package fit_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/gaussian"
)

const quantityModel = programColumns + `
[model]
program = """
data { int N; vector[N] x; vector[N] y; }
parameters { real a; real b; real<lower=0> s; }
model { a ~ normal(0, 1); b ~ normal(0, 1); s ~ normal(0, 1); y ~ normal(a + b * x, s); }
generated quantities {
  real contrast = a - 2 * b;
  real ratio = exp(b);
  real own = s;
  int more = a > b;
  real root = sqrt(a);
  real new_y = normal_rng(a, s);
}
"""
`

// The posteriors of a linear function, a log-normal number, a probability and a new outcome agree
// with their closed forms.
func TestQuantitiesOfAPosterior(t *testing.T) {
	m := parsed(t, quantityModel)
	family := gaussian.Full(3)
	mean := []float64{.4, -.2, .1}
	cov := mat.NewSymDense(3, []float64{.04, -.01, 0, -.01, .09, .01, 0, .01, .0025})
	natural := naturalOf(t, family, mean, cov)
	all, err := m.Quantities(family, natural)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, q := range all {
		names = append(names, q.Name)
	}
	if !slices.Equal(names, []string{"contrast", "ratio", "own", "more", "root", "new_y"}) {
		t.Fatal(names)
	}
	logNormal := func(m, v float64) (mean, sd float64) {
		mean = math.Exp(m + v/2)
		return mean, mean * math.Sqrt(math.Expm1(v))
	}
	check := func(q fit.Quantity, mean, sd, low, high float64) {
		t.Helper()
		const share = 4. / 64 // four standard errors with 4,096 draws, in standard deviations
		for _, c := range []struct{ got, want, within float64 }{
			{q.Mean, mean, share * sd}, {q.SD, sd, share * sd}, {q.Lower, low, 3 * share * sd}, {q.Upper, high, 3 * share * sd},
		} {
			if !(math.Abs(c.got-c.want) <= c.within) {
				t.Errorf("%s: %+v, want mean %g, sd %g, interval %g to %g", q.Name, *q.Spread, mean, sd, low, high)
			}
		}
	}
	sd := math.Sqrt(.04 + 4*.09 + 4*.01)
	check(all[0], .8, sd, .8-fit.Normal95*sd, .8+fit.Normal95*sd)
	if math.Abs(all[0].Mean-.8) > 1e-12 {
		t.Errorf("the mean of a linear function is %g", all[0].Mean)
	}
	ratio, ratioSD := logNormal(-.2, .09)
	check(all[1], ratio, ratioSD, math.Exp(-.2-.3*fit.Normal95), math.Exp(-.2+.3*fit.Normal95))
	own, ownSD := logNormal(.1, .0025)
	check(all[2], own, ownSD, math.Exp(.1-.05*fit.Normal95), math.Exp(.1+.05*fit.Normal95))
	p := .5 * math.Erfc(-.6/math.Sqrt(.04+.09+.02)/math.Sqrt2)
	check(all[3], p, math.Sqrt(p*(1-p)), 0, 1)
	if all[4].Spread != nil || all[4].Undefined == 0 || all[4].Undefined > 300 { // P(a < 0) is 0.023
		t.Errorf("the root of a number that may be negative: %+v", all[4])
	}
	new := math.Sqrt(.04 + math.Exp(.2+.005))
	check(all[5], .4, new, .4-fit.Normal95*new, .4+fit.Normal95*new)

	again, err := parsed(t, quantityModel).Quantities(family, natural)
	if err != nil || *again[5].Spread != *all[5].Spread {
		t.Error("another machine has other draws", err)
	}
}

// With point estimates, a quantity is the value of its formula at the estimate. Random quantities
// are left out.
func TestQuantitiesAtAPoint(t *testing.T) {
	all, err := parsed(t, quantityModel).QuantitiesAt([]float64{-.4, -.2, .1})
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{0, math.Exp(-.2), math.Exp(.1), 0}
	if len(all) != 5 || all[4].Estimate != nil || all[4].Undefined != 1 {
		t.Fatalf("%+v", all)
	}
	for i, x := range want {
		if q := all[i]; q.Spread != nil || math.Abs(*q.Estimate-x) > 1e-15 {
			t.Errorf("%s = %g, not %g", q.Name, *q.Estimate, x)
		}
	}
}
