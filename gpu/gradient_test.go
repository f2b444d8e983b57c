package gpu

import (
	"math"
	"math/rand"
	"testing"

	"fedpvi/pvi/model"
)

func TestSkeleton(t *testing.T) {
	r := model.Regression{Outcome: "y", Features: []string{"a", "b", "c"}, Coefficients: model.Normal{SD: 1}, Intercept: &model.Normal{SD: 2}}
	logistic, err := model.Logistic(r)
	if err != nil {
		t.Fatal(err)
	}
	linear, err := model.NormalRegression(r, 1)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewSource(1))
	for _, m := range []*model.Model{logistic, linear} {
		t.Log(m.Name(), m.Names())
		n := 100
		x, y := make([]float64, 3*n), make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		for i := range y {
			y[i] = float64(rng.Intn(2))
		}
		table, err := m.Load(n, [][]float64{y, x})
		if err != nil {
			t.Fatal(err)
		}
		e, err := CPU{}.Compile(m, table)
		if err != nil {
			t.Fatal(err)
		}
		theta := make([]float64, m.Dim())
		for i := range theta {
			theta[i] = rng.NormFloat64()
		}
		q := &Query{Draws: [][]float64{theta}, Clip: math.Inf(1)}
		g := make([]float64, m.Dim())
		if _, err := e.Sum(g, q); err != nil {
			t.Fatal(err)
		}
		prior := make([]float64, m.Dim())
		m.LogPrior(theta, prior)
		for i := range theta {
			const h = 1e-5
			old := theta[i]
			theta[i] = old + h
			up, _ := e.Sum(nil, q)
			pu := m.LogPrior(theta, nil)
			theta[i] = old - h
			down, _ := e.Sum(nil, q)
			pd := m.LogPrior(theta, nil)
			theta[i] = old
			if want := (up.LogDensity - down.LogDensity) / (2 * h); math.Abs(g[i]-want) > 1e-5*(1+math.Abs(want)) {
				t.Errorf("gradient %d: %g, differences give %g", i, g[i], want)
			}
			if want := (pu - pd) / (2 * h); math.Abs(prior[i]-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("prior gradient %d: %g, differences give %g", i, prior[i], want)
			}
		}
	}
}
