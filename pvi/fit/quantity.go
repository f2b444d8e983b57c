package fit

import (
	"math"
	"slices"

	"fedpvi/dpmech"
	"fedpvi/internal/special"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model"
)

// A Quantity is the posterior of a number that is computed from the parameters: a number that the
// program of the study generates, or the effect of a group. If the coordinates of θ are the effects
// themselves, they are not repeated as quantities.
type Quantity struct {
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"` // natural unit of an effect of a group, or "" if there is none

	// Estimate is the value at the point estimate of the parameters. It is nil if the study reports
	// intervals.
	Estimate *float64 `json:"estimate,omitempty"`

	// Spread is nil if the study reports only point estimates. It is also nil if Undefined is
	// positive.
	*Spread

	Undefined int `json:"undefined,omitempty"` // number of draws in which the quantity is not finite; 1 if it is not finite at the point estimate
}

// A Spread has the mean and the sd of a quantity, the median, and the central 95 % and 90 %
// intervals.
type Spread struct {
	Mean  float64 `json:"mean"`
	SD    float64 `json:"sd"`
	Lower float64 `json:"q2.5"`
	Upper float64 `json:"q97.5"`
	Q5    float64 `json:"q5"`
	Q50   float64 `json:"q50"`
	Q95   float64 `json:"q95"`
}

// QuantityDraws is the number of posterior draws over which quantities of parameters are computed.
const QuantityDraws = 4096

// Generator returns a generator of the quantities that the program of the study generates, or nil
// if there are none.
func (m *Model) Generator() *model.Generator { return m.generated.Generator(m.Study.Digest) }

// Quantities returns the posterior of the quantities of parameters, given the natural parameters of
// a Gaussian posterior. The digest of the study seeds the draws, so that all machines use the same
// draws.
func (m *Model) Quantities(family gaussian.Family, natural []float64) ([]Quantity, error) {
	all, err := m.allGenerated()
	if err != nil {
		return nil, err
	}
	var out []Quantity
	for _, g := range all {
		values := make([][]float64, len(g.names))
		one := make([]float64, len(g.names))
		err := m.eachDraw(family, natural, QuantityDraws, func(k int, theta []float64) {
			g.at(one, theta, k)
			for i, x := range one {
				values[i] = append(values[i], x)
			}
		})
		if err != nil {
			return nil, err
		}
		for i := range g.names {
			q := g.quantity(i)
			q.Spread, q.Undefined = spreadOf(values[i])
			out = append(out, q)
		}
	}
	return out, nil
}

// quantity returns quantity i without a value.
func (g generated) quantity(i int) Quantity {
	q := Quantity{Name: g.names[i]}
	if g.units != nil {
		q.Unit = g.units[i]
	}
	return q
}

// QuantitiesAt computes the quantities of parameters at the point estimate θ. It leaves out
// quantities that depend on random numbers.
func (m *Model) QuantitiesAt(theta []float64) ([]Quantity, error) {
	all, err := m.allGenerated()
	if err != nil {
		return nil, err
	}
	var out []Quantity
	for _, g := range all {
		values := make([]float64, len(g.names))
		g.at(values, theta, 0)
		for i, x := range values {
			if g.random != nil && g.random[i] {
				continue
			}
			q := g.quantity(i)
			if finite(x) {
				q.Estimate = &x
			} else {
				q.Undefined = 1
			}
			out = append(out, q)
		}
	}
	return out, nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// spreadOf summarises the draws of a quantity by moments and quantiles, and sorts draws. If some
// draws are not finite, it returns nil and the number of these draws, and otherwise 0 as the second
// result.
func spreadOf(draws []float64) (*Spread, int) {
	undefined := 0
	for _, x := range draws {
		if !finite(x) {
			undefined++
		}
	}
	if undefined > 0 {
		return nil, undefined
	}
	slices.Sort(draws)
	mean := average(draws)
	of := &Spread{Mean: mean, SD: deviation(draws)}
	of.Lower, of.Upper = quantile(draws, .025), quantile(draws, .975)
	of.Q5, of.Q50, of.Q95 = quantile(draws, .05), quantile(draws, .5), quantile(draws, .95)
	if !special.Finite([]float64{of.Mean, of.SD}) {
		return nil, len(draws) // the draws are finite, but their moments overflow
	}
	return of, 0
}

// quantile returns a quantile of sorted numbers, with linear interpolation between them.
func quantile(sorted []float64, p float64) float64 {
	at := p*float64(len(sorted)) - .5
	k := int(math.Floor(at))
	if k < 0 || k+1 >= len(sorted) {
		return sorted[max(0, min(k, len(sorted)-1))]
	}
	share := at - float64(k)
	return sorted[k]*(1-share) + sorted[k+1]*share
}

// eachDraw draws n values of θ from a Gaussian and calls visit for each draw, with its number k and
// its value theta. n must be even. The draws have equal weights and come in antithetic pairs, so
// that their mean is exactly the mean of the Gaussian. They are rescaled so that their variance
// along each standardised axis is exactly 1. The next draw overwrites theta, so visit must not keep
// it.
func (m *Model) eachDraw(family gaussian.Family, natural []float64, n int, visit func(k int, theta []float64)) error {
	sample, err := family.Sampler(natural)
	if err != nil {
		return err
	}
	pairs := n / 2
	z, scale, theta := make([]float64, family.Dim()), make([]float64, family.Dim()), make([]float64, family.Dim())
	draw := func(k int) { dpmech.FillPublicNormal(z, "draws for quantities", m.Study.Digest, k) }
	for k := range pairs {
		draw(k)
		for i, x := range z {
			scale[i] += x * x / float64(pairs)
		}
	}
	for k := range pairs {
		draw(k)
		for _, sign := range []float64{1, -1} {
			i := 0
			sample(theta, func() float64 {
				x := sign * z[i] / math.Sqrt(scale[i])
				i++
				return x
			})
			if sign > 0 {
				visit(2*k, theta)
			} else {
				visit(2*k+1, theta)
			}
		}
	}
	return nil
}
