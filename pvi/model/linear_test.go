package model_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model"
)

// The log likelihood of a record is a linear function of its statistics, up to a constant.
func TestStatisticsAreTheLikelihood(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 5).Draw(t, "d")
		draw := func(label string) []float64 {
			v := make([]float64, d)
			for i := range v {
				v[i] = rapid.Float64Range(-2, 2).Draw(t, label)
			}
			return v
		}
		sd := rapid.Float64Range(.1, 3).Draw(t, "sd")
		prior := make([]model.Normal, d)
		for i := range prior {
			prior[i].SD = 1
		}
		m, err := model.NewLinear(make([]string, d), prior, sd)
		if err != nil {
			t.Fatal(err)
		}
		x, y := draw("x"), rapid.Float64Range(-2, 2).Draw(t, "y")
		s := make([]float64, m.StatisticsSize())
		m.AddStatistics(s, x, y)
		logLikelihood := func(theta []float64) float64 {
			var mean float64
			for i := range theta {
				mean += x[i] * theta[i]
			}
			return -(y - mean) * (y - mean) / (2 * sd * sd)
		}
		linear := func(theta []float64) float64 {
			var sum float64
			for i := range theta {
				sum += s[i] * theta[i]
				for j := range i + 1 {
					factor := 1.0
					if i == j {
						factor = .5
					}
					sum -= factor * s[gaussian.Packed(d, i, j)] * theta[i] * theta[j]
				}
			}
			return sum
		}
		a, b := draw("a"), draw("b")
		got, want := linear(a)-linear(b), logLikelihood(a)-logLikelihood(b)
		if math.Abs(got-want) > 1e-9*(1+math.Abs(want)+1/(sd*sd)) {
			t.Fatalf("the likelihood ratio of two θ is %g from the statistics, %g from the density", got, want)
		}
		// StatisticsBound is exact if it is given the record's own values as bounds.
		var squares, fourths, norm float64
		for _, v := range x {
			squares += v * v
			fourths += v * v * v * v
		}
		for _, v := range s {
			norm += v * v
		}
		bound := m.StatisticsBound(squares, fourths, math.Abs(y))
		if norm = math.Sqrt(norm); math.Abs(norm-bound) > 1e-9*(1+bound) {
			t.Fatalf("the statistics have norm %g, the bound is %g", norm, bound)
		}
	})
}

func TestPrior(t *testing.T) {
	m, err := model.NewLinear([]string{"a", "b"}, []model.Normal{{Mean: 1, SD: 2}, {Mean: -1, SD: .5}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []gaussian.Family{gaussian.Diagonal(2), gaussian.Full(2)} {
		nat, err := m.Prior(f)
		if err != nil {
			t.Fatal(err)
		}
		mean, cov, err := f.Moments(nat)
		if err != nil || mean[0] != 1 || mean[1] != -1 || cov.At(0, 0) != 4 || cov.At(1, 1) != .25 || cov.At(0, 1) != 0 {
			t.Errorf("%s: prior with mean %v and variances %g, %g, %v", f.Name(), mean, cov.At(0, 0), cov.At(1, 1), err)
		}
	}
	if _, err := m.Prior(gaussian.Full(3)); err == nil {
		t.Error("a family of another dimension is accepted")
	}
}

func TestNewLinearErrors(t *testing.T) {
	ok := []model.Normal{{SD: 1}}
	for name, c := range map[string]struct {
		names []string
		prior []model.Normal
		noise float64
	}{
		"no coefficient":       {nil, nil, 1},
		"no prior":             {[]string{"a", "b"}, ok, 1},
		"no noise":             {[]string{"a"}, ok, 0},
		"prior without spread": {[]string{"a"}, []model.Normal{{}}, 1},
		"NaN prior":            {[]string{"a"}, []model.Normal{{math.NaN(), 1}}, 1},
		"flat prior":           {[]string{"a"}, []model.Normal{{0, math.Inf(1)}}, 1},
	} {
		if _, err := model.NewLinear(c.names, c.prior, c.noise); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
