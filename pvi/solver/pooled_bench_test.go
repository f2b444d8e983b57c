package solver

import (
	"math/rand/v2"
	"testing"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/study"
)

// manyCounts returns a negative binomial regression of n records on an intercept and some columns.
// Coefficients and log dispersion have the prior N(0, 1).
func manyCounts(n, columns int) (*Regression, []float64) {
	random := rand.New(rand.NewPCG(1, 2))
	d := columns + 2
	l := NewRegression(d, Outcome{Family: study.NegativeBinomial})
	for range n {
		eta := .5
		l.Load(0, 1)
		for j := 1; j <= columns; j++ {
			x := random.NormFloat64()
			eta += x * .3 * float64(j%3-1)
			l.Load(j, x)
		}
		l.EndPredictor()
		l.Load(d-1, 1)
		l.EndPredictor()
		l.EndRecord(negativeBinomial{}.Draw([]float64{eta}, 2, random))
	}
	return l, standardNormal(d)
}

// slopes returns a linear regression of n records with learned noise. The intercept and the slope
// vary between groups.
func slopes(n, groups int) (*Regression, []float64) {
	random := rand.New(rand.NewPCG(1, 2))
	d := 2 + 1 + 2 + 2*groups
	l := NewRegression(d, Outcome{Family: study.Linear, Effects: 2})
	effects := make([]float64, 2*groups)
	for i := range effects {
		effects[i] = random.NormFloat64()
	}
	for i := range n {
		g, x := i%groups, random.NormFloat64()
		l.Load(0, 1)
		l.Load(1, x)
		l.EndPredictor()
		l.Load(2, 1)
		l.EndPredictor()
		l.Load(3, 1)
		l.EndPredictor()
		l.Load(5+g, 1)
		l.EndPredictor()
		l.Load(4, 1)
		l.EndPredictor()
		l.Load(5+groups+g, x)
		l.EndPredictor()
		l.EndRecord(1 + x + .7*effects[g] + .4*effects[groups+g]*x + .5*random.NormFloat64())
	}
	return l, standardNormal(d)
}

func standardNormal(d int) []float64 {
	natural := make([]float64, gaussian.Full(d).Size())
	for i := range d {
		natural[gaussian.Packed(d, i, i)] = 1
	}
	return natural
}

// The fit of the negative binomial counts should take at most 2 s, and the fit with 669 coordinates
// at most a minute.
func BenchmarkPooled(b *testing.B) {
	for _, c := range []struct {
		name string
		make func() (*Regression, []float64)
	}{
		{"counts of 20000 records and 9 columns", func() (*Regression, []float64) { return manyCounts(20_000, 9) }},
		{"669 coordinates and 19200 records", func() (*Regression, []float64) { return slopes(19_200, 332) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			l, prior := c.make()
			family := gaussian.Full(l.Dim())
			for b.Loop() {
				if err := Pooled(make([]float64, family.Size()), prior, family, []Likelihood{l}, false, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
