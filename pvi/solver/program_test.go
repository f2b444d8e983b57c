package solver

import (
	"errors"
	"testing"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
)

// Where the density of a record overflows at q, the solvers that need its curvature say
// that they find nothing, which at a site is no change: whether there is such a record is
// private. With tame records at the same q they find something.
func TestProgramThatOverflowsDiverges(t *testing.T) {
	b := model.NewBuilder("counts")
	y, x := b.Integer("y", 0, 10), b.Reals("x", []string{"x"}, 0, 1)
	m, err := b.Build(b.LogDensity(ir.PoissonLog, y, b.Linear(x, b.Vector("beta", []string{"x"}, model.Free, b.Normal(model.Normal{SD: 1})))))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []gaussian.Family{gaussian.Diagonal(1), gaussian.Full(1)} {
		// A mean of 708, from where e^η overflows within one sd.
		p := Problem{Family: q, Mean: []float64{708}, Natural: []float64{708, 1}, Cavity: []float64{708, 1}, Weight: 1}
		for _, last := range []float64{0, 1} {
			records := program(t, m, 3, [][]float64{{1, 2, 3}, {0, 0, last}})
			for name, s := range map[string]*NaturalGradient{"natural gradient": NewNaturalGradient(records), "laplace": NewLaplace(records)} {
				_, err := s.Propose(make([]float64, 2), p, nil)
				if last == 0 && err != nil {
					t.Errorf("%s, %s: tame records: %v", name, q.Name(), err)
				}
				if last == 1 && !errors.Is(err, ErrDiverged) {
					t.Errorf("%s, %s: a record that overflows: %v, want ErrDiverged", name, q.Name(), err)
				}
			}
		}
	}
}
