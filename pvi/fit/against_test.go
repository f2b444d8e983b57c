package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/gaussian"
)

// In a conjugate model, the posterior that AgainstPrior computes for another prior equals that of a
// fit with this prior.
func TestAgainstPriorIsAnotherFit(t *testing.T) {
	fitWith := func(width float64) (*Model, []float64, []AgainstPrior) {
		m := modelOf(t, fmt.Sprintf(`
study = { version = 2, name = "s" }
privacy.unit = "none"
prior = { mean = 0.3, sd = %g }
model = { family = "linear", outcome = "y", terms = ["u", "v"], noise_sd = 0.7 }
column = [
  { name = "u", type = "numeric", bounds = [-1, 1] },
  { name = "v", type = "numeric", bounds = [0, 10] },
  { name = "y", type = "numeric", bounds = [-2, 2] },
]`, width))
		family := gaussian.Full(m.Dim())
		natural := priorOf(t, m, family)
		random := rand.New(rand.NewPCG(5, 6))
		for range 20 {
			u, v := random.NormFloat64(), random.NormFloat64()
			m.Linear().AddStatistics(natural, []float64{1, u, v}, u+random.NormFloat64())
		}
		mean, cov, err := family.Moments(natural)
		if err != nil {
			t.Fatal(err)
		}
		against, err := m.AgainstPrior(mean, cov)
		if err != nil {
			t.Fatal(err)
		}
		return m, mean, against
	}
	m, _, now := fitWith(1)
	_, _, narrow := fitWith(.5)
	_, _, wide := fitWith(2)
	near := func(a, b Moment) bool { return math.Abs(a.Mean-b.Mean) < 1e-9 && math.Abs(a.SD-b.SD) < 1e-9 }
	for i, a := range now {
		if !near(*a.Narrow, narrow[i].Posterior) || !near(*a.Wide, wide[i].Posterior) || a.Prior != Moment(m.Parameters.Prior(i)) {
			t.Errorf("%s: %+v and %+v, want %+v and %+v", a.Name, a.Narrow, a.Wide, narrow[i].Posterior, wide[i].Posterior)
		}
		if got, want := a.Shift(a.Narrow), (narrow[i].Posterior.Mean-a.Posterior.Mean)/a.Posterior.SD; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: the mean moves by %g sds, want %g", a.Name, got, want)
		}
	}
	// Here the posterior is wider than the prior, so the Gaussian likelihood has a negative precision.
	// The posterior is then proper only under a narrower prior.
	d := m.Dim()
	cov := mat.NewDiagDense(d, slices.Repeat([]float64{1.5}, d))
	if all, err := m.AgainstPrior(make([]float64, d), cov); err != nil || all[0].Narrow == nil || all[0].Wide != nil {
		t.Errorf("%+v, %v", all, err)
	}
	if all, err := newModel(t, "mixture").AgainstPrior(nil, nil); all != nil || err != nil {
		t.Errorf("a mixture: %+v, %v", all, err)
	}
}

// If the true values are drawn from the prior, Conflict reports a parameter with probability
// 0.0027, that of more than three standard deviations. If the true value of a parameter is ten
// prior standard deviations away, Conflict reports it.
func TestConflict(t *testing.T) {
	m := newModel(t, "logistic")
	random := rand.New(rand.NewPCG(7, 8))
	const n, noise, sd = 40000, 0.5, 2.0
	posterior := sd * sd * noise * noise / (sd*sd + noise*noise)
	variances := func(v float64) mat.Symmetric { return mat.NewDiagDense(m.Dim(), slices.Repeat([]float64{v}, m.Dim())) }
	named := 0
	conflict := func(truth float64) string {
		mean := make([]float64, m.Dim())
		mean[1] = posterior / (noise * noise) * (truth + noise*random.NormFloat64())
		return m.Conflict(make([]float64, m.Dim()), variances(sd*sd), mean, variances(posterior))
	}
	for range n {
		if conflict(sd*random.NormFloat64()) != "" {
			named++
		}
	}
	const expected = 0.0027 * n
	if math.Abs(float64(named)-expected) > 4*math.Sqrt(expected) {
		t.Errorf("a conflict in %d of %d cases, want some %.0f", named, n, expected)
	}
	if got := conflict(10 * sd); !strings.Contains(got, "about: u.") {
		t.Errorf("a truth of ten prior sds: %q", got)
	}
}
