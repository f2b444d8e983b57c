package solver

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"fedpvi/pvi/onestep"
	"fedpvi/pvi/study"
)

// The Fisher information is the expected negative second derivative of the log likelihood. Its
// Frobenius norm never exceeds the bound of the method most.
func TestInformation(t *testing.T) {
	for name, c := range responses {
		of, ok := c.of.(informative)
		if _, varies := c.of.(*varying); varies || !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				k := of.Size()
				eta := rapid.SliceOfN(rapid.Float64Range(-6, 6), k, k).Draw(t, "η")
				w, g, h := make([]float64, k*k), make([]float64, k), make([]float64, k*k)
				of.Information(eta, w)
				want := make([]float64, k*k)
				for _, y := range c.outcomes() {
					p := math.Exp(of.Eval(y, eta, g, h))
					for i := range want {
						want[i] -= p * h[i]
					}
				}
				if c.outcomes() == nil { // The second derivative is the same for every outcome.
					of.Eval(0.4, eta, g, h)
					for i := range want {
						want[i] = -h[i]
					}
				}
				var squares float64
				for i, x := range w {
					squares += x * x
					if math.Abs(x-want[i]) > 1e-9 {
						t.Fatalf("element %d is %g, want %g", i, x, want[i])
					}
				}
				if math.Sqrt(squares) > of.most()*(1+1e-12) {
					t.Fatalf("the norm is %g, its bound %g", math.Sqrt(squares), of.most())
				}
			})
		})
	}
}

// The results of EachGradient and EachInformation add up to the gradient and the negative Hessian
// of the log likelihood of all records.
func TestEachAddsUp(t *testing.T) {
	for _, o := range []Outcome{{Family: study.Logistic}, {Family: study.Softmax, Classes: 3}, {Family: study.Linear, NoiseSD: 0.5}} {
		predictors := o.Response().Size()
		dim := 2 * predictors
		r := NewRegression(dim, o)
		for i := range 20 {
			for k := range predictors {
				r.Load(2*k, 1)
				r.Load(2*k+1, math.Sin(float64(i)))
				r.EndPredictor()
			}
			r.EndRecord(float64(i % 2))
		}
		theta := make([]float64, dim)
		for i := range theta {
			theta[i] = math.Cos(float64(3 * i))
		}
		want, got := gradientOf(r, theta)(), make([]float64, dim)
		packed := make([]float64, onestep.Size(dim))
		addTo := func(sum []float64) func([]float64) error {
			return func(x []float64) error { floats.Add(sum, x); return nil }
		}
		if err := errors.Join(r.EachGradient(theta, addTo(got)), r.EachInformation(theta, addTo(packed))); err != nil {
			t.Fatal(err)
		}
		k := 0
		for i := range dim {
			if math.Abs(got[i]-want[i]) > 1e-12 {
				t.Errorf("%s: gradient %d is %g, want %g", o.Family, i, got[i], want[i])
			}
			for j := range i + 1 {
				bend := -differences(theta, j, gradientOf(r, theta))[i]
				if i != j {
					bend *= math.Sqrt2
				}
				if math.Abs(packed[k]-bend) > 1e-5*(1+math.Abs(bend)) {
					t.Errorf("%s: information (%d, %d) is %g, differences give %g", o.Family, i, j, packed[k], bend)
				}
				k++
			}
		}
	}
}

// Information of Outcome returns an error for models without a public bound on the curvature.
func TestInformationOfOthers(t *testing.T) {
	for _, o := range []Outcome{{Family: study.Poisson}, {Family: study.NegativeBinomial}, {Family: study.Robust, DegreesOfFreedom: 4}, {Family: study.Linear}, {Family: study.Logistic, Effects: 1}} {
		if most, err := o.Information(); err == nil {
			t.Errorf("%s: the bound is %g, want none", o.Family, most)
		}
		if err := NewRegression(5, o).EachInformation(make([]float64, 5), func([]float64) error { return nil }); err == nil {
			t.Errorf("%s: has an information", o.Family)
		}
	}
}
