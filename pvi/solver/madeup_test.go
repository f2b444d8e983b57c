package solver_test

import (
	"math"
	"testing"

	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// If outcomes have the right distribution, the mean score (the derivative of the log likelihood
// with respect to the predictors) is zero, and its variance is the Fisher information. The test
// averages over outcomes at a grid of normal quantiles z.
func TestMadeUpOutcomes(t *testing.T) {
	type outcome struct {
		name string
		solver.Outcome
		eta []float64
	}
	cases := []outcome{
		{"known noise", solver.Outcome{Family: study.Linear, NoiseSD: 0.6}, []float64{1.2}},
		{"poisson, large", solver.Outcome{Family: study.Poisson}, []float64{7.5}},
		{"negative binomial, heavy", solver.Outcome{Family: study.NegativeBinomial}, []float64{2.5, -1}},
	}
	for _, f := range study.Families() {
		if f != study.Mixture && f != study.NeuralNetwork {
			cases = append(cases, outcome{string(f), solver.Outcome{Family: f, DegreesOfFreedom: 4, Classes: 3}, []float64{0.7, -0.4}})
		}
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, err := c.Described()
			if err != nil {
				t.Fatal(err)
			}
			c.eta = c.eta[:r.Size()]
			k := r.Size()
			g, h := make([]float64, k), make([]float64, k*k)
			mean, variance, want := make([]float64, k), make([]float64, k*k), make([]float64, k*k)
			n, points := 1200, 1
			if r.Outcome(c.eta, [2]float64{0.5, -1}) != r.Outcome(c.eta, [2]float64{0.5, 1}) { // the outcome depends on the second number too
				n, points = 250, 250
			}
			for i := range n {
				for j := range points {
					z := [2]float64{quantile(i, n), quantile(j, points)}
					y := r.Outcome(c.eta, z)
					r.Eval(y, c.eta, g, h)
					for a := range k {
						mean[a] += g[a] / float64(n*points)
						for b := range k {
							variance[a*k+b] += g[a] * g[b] / float64(n*points)
						}
					}
				}
			}
			r.Information(c.eta, want)
			for a := range k {
				sd := math.Sqrt(want[a*k+a])
				if math.Abs(mean[a]) > 0.02*sd {
					t.Errorf("mean of score %d is %g, of sd %g", a, mean[a], sd)
				}
				for b := range k {
					if scale := math.Sqrt(want[a*k+a] * want[b*k+b]); math.Abs(variance[a*k+b]-want[a*k+b]) > 0.05*scale {
						t.Errorf("covariance of scores %d and %d is %g, the information %g", a, b, variance[a*k+b], want[a*k+b])
					}
				}
			}
		})
	}
	if _, err := (solver.Outcome{Family: study.Poisson, Effects: 1}).Described(); err == nil {
		t.Error("a model with groups has a known information")
	}
}

// quantile returns the standard normal quantile of probability (i + ½)/n.
func quantile(i, n int) float64 {
	return math.Sqrt2 * math.Erfinv(2*(float64(i)+0.5)/float64(n)-1)
}
