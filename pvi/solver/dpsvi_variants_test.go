package solver

import (
	"fmt"
	"math"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/pvi/study"
)

// A variant is a setting of DPSVI: the gradients that a record contributes, and the number of draws
// of θ in a step.
type variant struct {
	gradients study.Gradients
	draws     int
}

var variants = []variant{
	{study.Aligned, 1},
	{study.Joint, 1},
	{study.Preconditioned, 1},
	{study.PublishedGradients, 1},
	{study.Aligned, 3},
	{study.Joint, 2},
	{study.Preconditioned, 2},
	{study.PublishedGradients, 2},
}

func (v variant) String() string { return fmt.Sprintf("%s, %d draws", v.gradients, v.draws) }

func (v variant) set(o *DPSVIOptions) {
	o.Gradients, o.Draws = v.gradients, v.draws
	if v.gradients == study.PublishedGradients {
		o.Records = 120
	}
}

// differences returns central differences of the elements of f with respect to x[i]. f must return
// a new slice in each call.
func differences(x []float64, i int, f func() []float64) []float64 {
	const h = 1e-5
	at := x[i]
	x[i] = at + h
	slopes := f()
	x[i] = at - h
	for k, below := range f() {
		slopes[k] = (slopes[k] - below) / (2 * h)
	}
	x[i] = at
	return slopes
}

func difference(x []float64, i int, f func() float64) float64 {
	return differences(x, i, func() []float64 { return []float64{f()} })[0]
}

// gradientOf returns the gradient of l at theta, as a function for [differences].
func gradientOf(l Likelihood, theta []float64) func() []float64 {
	return func() []float64 {
		g := make([]float64, len(theta))
		l.AddGradient(g, theta)
		return g
	}
}

// divergence returns the KL divergence of N(m, exp(ρ)²) from the cavity, by definition. point holds
// the elements of m, then those of ρ.
func divergence(point, cavity []float64) (total float64) {
	d := len(point) / 2
	for i := range d {
		precision := cavity[d+i]
		gap, sd := point[i]-cavity[i]/precision, math.Exp(point[d+i])
		total += (precision*(sd*sd+gap*gap)-1)/2 - math.Log(sd*math.Sqrt(precision))
	}
	return total
}

// materialised computes the release of the first step of Propose independently of the solver, with
// gradients by finite differences and with the streams that the solver splits from src. It returns
// the noisy sum and the number of records in the batch.
func materialised(t *testing.T, s *DPSVI, p Problem, src *dpmech.Stream, sampling dpmech.Sampling) ([]float64, int) {
	t.Helper()
	var chosen, noise, draws dpmech.Stream
	dpmech.Split(&chosen, src)
	dpmech.Split(&noise, src)
	dpmech.Split(&draws, src)
	_, columns := logistic(t, 200, testDim)
	sampler, err := sampling.Sampler(s.mechanism.Records())
	if err != nil {
		t.Fatal(err)
	}
	batch := sampler.Next(nil, &chosen)
	gaussian, err := dpmech.NewDiscreteGaussian(s.mechanism.ShareSigma())
	if err != nil {
		t.Fatal(err)
	}
	steps := make([]int64, s.mechanism.Dim())
	gaussian.Fill(steps, &noise)
	point := make([]float64, 2*testDim) // mean of q, then log sd of q
	for i := range testDim {
		point[i] = p.Mean[i]
		point[testDim+i] = math.Log(min(s.options.InitialSD, 1/math.Sqrt(p.Natural[testDim+i])))
	}
	epsilon := make([][]float64, s.options.Draws)
	for k := range epsilon {
		epsilon[k] = make([]float64, testDim)
		dpmech.FillNormal(epsilon[k], &draws)
	}
	unit := s.mechanism.Lattice().Step()
	sum := make([]float64, len(steps))
	for i, k := range steps {
		sum[i] = float64(k)
	}
	for _, record := range batch {
		var g []float64
		for _, e := range epsilon {
			g = append(g, contributed(s, p, point, e, columns[1][int(record)*testDim:][:testDim], columns[0][record])...)
		}
		squared := 0.0
		for _, v := range g {
			squared += v * v
		}
		factor := min(1, s.mechanism.Clip()/math.Sqrt(squared))
		for i, v := range g {
			sum[i] += math.Trunc(v * factor / unit)
		}
	}
	for i := range sum {
		sum[i] *= unit
	}
	return sum, len(batch)
}

// contributed returns the vector of one record at the draw epsilon, before clipping.
func contributed(s *DPSVI, p Problem, point, epsilon, x []float64, y float64) []float64 {
	logDensity := func() float64 {
		eta := 0.0
		for i, v := range x {
			eta += v * (point[i] + math.Exp(point[testDim+i])*epsilon[i])
		}
		return y*eta - math.Log1p(math.Exp(eta))
	}
	size := testDim
	if s.options.Gradients.Joint() {
		size *= 2
	}
	g := make([]float64, size)
	for i := range g {
		g[i] = difference(point, i, logDensity)
		switch {
		case s.options.Gradients == study.PublishedGradients:
			g[i] -= difference(point, i, func() float64 { return divergence(point, p.Cavity) }) / s.options.Records
		case s.options.Gradients == study.Preconditioned && i >= testDim:
			g[i] /= math.Exp(point[i])
		}
	}
	return g
}
