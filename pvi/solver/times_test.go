package solver_test

import (
	"math"
	"testing"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// Times(l, 3) equals the likelihood of three copies of each record of l.
func TestTimes(t *testing.T) {
	const times = 3
	build := func(copies int) solver.Likelihood {
		r := solver.NewRegression(2, solver.Outcome{Family: study.Logistic})
		for i := range 7 {
			for range copies {
				r.Load(0, 1)
				r.Load(1, math.Sin(float64(i)))
				r.EndPredictor()
				r.EndRecord(float64(i % 2))
			}
		}
		return r
	}
	counted, copied := solver.Times(build(1), times), build(times)
	near := func(what string, got, want []float64) {
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-12*(1+math.Abs(want[i])) {
				t.Errorf("%s %d: %g, of copies %g", what, i, got[i], want[i])
			}
		}
	}
	a, b := []float64{1, 2}, []float64{1, 2} // sums to which the gradients are added
	for range 2 {
		va, vb := counted.AddGradient(a, []float64{.3, -.8}), copied.AddGradient(b, []float64{.3, -.8})
		near("log likelihood", []float64{va}, []float64{vb})
		near("gradient", a, b)
	}
	for _, family := range []gaussian.Family{gaussian.Diagonal(2), gaussian.Full(2)} {
		natural := make([]float64, family.Size())
		for k, at := range family.Precision() {
			if at[0] == at[1] {
				natural[2+k] = 2
			}
		}
		q, err := solver.NewApproximation(family, natural)
		if err != nil {
			t.Fatal(err)
		}
		counted, got, want := solver.Times(build(1), times), solver.NewExpected(family), solver.NewExpected(family)
		for range 2 {
			counted.AddExpected(got, q)
			copied.AddExpected(want, q)
		}
		near("expected value", []float64{got.Value}, []float64{want.Value})
		near("expected gradient", got.Gradient, want.Gradient)
		near("expected curvature", got.Hessian, want.Hessian)
	}
}
