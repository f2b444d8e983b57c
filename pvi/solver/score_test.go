package solver

import (
	"math"
	"testing"

	"fedpvi/pvi/study"
)

// Score returns the gradient of the log likelihood and the Fisher information. In these families
// the information does not depend on the outcomes, so it equals the negative second derivative.
func TestScore(t *testing.T) {
	for name, o := range map[string]Outcome{
		"linear":   {Family: study.Linear, NoiseSD: 0.6},
		"logistic": {Family: study.Logistic},
		"poisson":  {Family: study.Poisson},
		"softmax":  {Family: study.Softmax, Classes: 3},
	} {
		t.Run(name, func(t *testing.T) {
			k := o.Response().Size()
			r := NewRegression(2*k, o)
			for _, record := range [][3]float64{{1, 0.4, 1}, {1, -1.2, 0}, {0, 0.8, 1}} {
				for a := range k {
					r.Load(2*a, record[0])
					r.Load(2*a+1, record[1])
					r.EndPredictor()
				}
				r.EndRecord(record[2])
			}
			theta := []float64{0.3, -0.5, 0.7, 0.2}[:2*k]
			want := gradientOf(r, theta)()
			g, information, err := r.Score(theta)
			if err != nil {
				t.Fatal(err)
			}
			for i := range theta {
				if math.Abs(g[i]-want[i]) > 1e-12 {
					t.Errorf("gradient %d is %g, want %g", i, g[i], want[i])
				}
				for j, slope := range differences(theta, i, gradientOf(r, theta)) {
					if math.Abs(information.At(i, j)+slope) > 1e-6 {
						t.Errorf("information %d, %d is %g, want %g", i, j, information.At(i, j), -slope)
					}
				}
			}
		})
	}
	varying := NewRegression(3, Outcome{Family: study.Poisson, Effects: 1})
	if _, _, err := varying.Score(make([]float64, 3)); err == nil {
		t.Error("a model with groups has a score")
	}
}
