package solver

import (
	"errors"
	"math"
	"slices"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
)

// If the density of a record overflows at q, solvers that need its curvature return ErrDiverged, so
// that a client proposes no change; another error would reveal the record. For ordinary records at
// the same q they return a factor.
func TestProgramThatOverflowsDiverges(t *testing.T) {
	b := model.NewBuilder("counts")
	y, x := b.Integer("y", 0, 10), b.Reals("x", []string{"x"}, 0, 1)
	m, err := b.Build(b.LogDensity(ir.PoissonLog, y, b.Linear(x, b.Vector("beta", []string{"x"}, model.Free, b.Normal(model.Normal{SD: 1})))))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []gaussian.Family{gaussian.Diagonal(1), gaussian.Full(1)} {
		// At a mean of 708, e^η overflows within one sd of η.
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

// A record adds the same vector to a sum, whichever records were added before it. In this model
// different records depend on different coordinates of θ.
func TestSparseRecordsAddWhatTheyAddAlone(t *testing.T) {
	b := model.NewBuilder("levels")
	y, level := b.Integer("y", 0, 1), b.Integer("level", 0, 3)
	effects := b.Vector("effect", []string{"a", "b", "c", "d"}, model.Free, b.Normal(model.Normal{SD: 1}))
	m, err := b.Build(b.LogDensity(ir.BernoulliLogit, y, b.Gather(effects, level)))
	if err != nil {
		t.Fatal(err)
	}
	ys, levels := []float64{1, 0, 1, 1, 0, 0, 1, 1}, []float64{0, 3, 1, 1, 2, 0, 3, 3}
	for _, v := range variants {
		sum := func(from, to int) []int64 {
			o := options(1, 1)
			v.set(&o)
			p := program(t, m, to-from, [][]float64{ys[from:to], levels[from:to]})
			s := private(t, p, dpmech.SampledConfig{Sampling: dpmech.FullBatch{}, Records: to - from, Steps: 1, Dim: o.size(4), Clip: 0.3, NoiseMultiplier: 1}, o)
			visited(t, s, standard(4), 5)
			return slices.Clone(s.noisy)
		}
		noise, before := sum(0, 0), sum(0, 0)
		for n := range ys {
			alone, all := sum(n, n+1), sum(0, n+1)
			for i := range all {
				if all[i]-before[i] != alone[i]-noise[i] {
					t.Fatalf("%v: element %d of record %d adds %d after other records, but %d alone", v, i, n, all[i]-before[i], alone[i]-noise[i])
				}
			}
			before = all
		}
	}
}

// The expected Hessian of a program with groups agrees with central differences of the gradient,
// also its diagonal under a diagonal q.
func TestCurvatureOfPrograms(t *testing.T) {
	for name, p := range map[string]*Program{"crossed": crossed(t, 200, 3, 2), "items": items(t, 6, 4)} {
		t.Run(name, func(t *testing.T) {
			d := p.Dim()
			theta := make([]float64, d)
			for i := range theta {
				theta[i] = .1 * float64(i%5-2)
			}
			full, diagonal := NewExpected(gaussian.Full(d)), NewExpected(gaussian.Diagonal(d))
			p.AddExpected(full, &Approximation{Family: gaussian.Full(d), Mean: theta, Point: true})
			p.AddExpected(diagonal, &Approximation{Family: gaussian.Diagonal(d), Mean: theta, Point: true})
			for k, at := range gaussian.Full(d).Precision() {
				i := at[0]
				want := differences(theta, at[1], gradientOf(p, theta))[i]
				if math.Abs(full.Hessian[k]-want) > 1e-5*(1+math.Abs(want)) {
					t.Errorf("element %v: %g, differences give %g", at, full.Hessian[k], want)
				}
				if i == at[1] && math.Abs(diagonal.Hessian[i]-want) > 1e-5*(1+math.Abs(want)) {
					t.Errorf("diagonal element %d: %g, differences give %g", i, diagonal.Hessian[i], want)
				}
			}
		})
	}
}

// A pooled fit of many small groups settles with average Hessians, but not with Hessians at the
// mean of q.
func TestPooledAveragesHessiansThatDoNotSettle(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of steps that do not settle")
	}
	p := crossed(t, 200, 40)
	family := gaussian.Full(p.Dim())
	if err := Pooled(make([]float64, family.Size()), standardNormal(p.Dim()), family, []Likelihood{p}, false, nil); err != nil {
		t.Error(err)
	}
	if !p.atMean {
		t.Error("the fit has changed the likelihood")
	}
}
