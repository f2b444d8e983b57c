package baseline

import (
	"math"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/gpu"
	"fedpvi/pvi/method"
	"fedpvi/pvi/solver"
)

// langevin runs stochastic gradient Langevin dynamics with differential privacy (Wang, Fienberg and
// Smola, "Privacy for Free: Posterior Sampling and Stochastic Gradient Monte Carlo", 2015,
// algorithm 2), with the same clip, batches and noise as the study's private gradient steps, and so
// at the same cost. A step of size η is
//
//	θ ← θ + η/2 · (∇log p(θ) + G) + e,
//
// where p is the density of the prior, and G is the noisy sum of clipped gradients divided by the
// sampling rate. The normal number e raises the variance of the noise to η; it is zero if the
// noise in η/2·G already has a larger variance. langevin returns the mean and standard deviation of θ over the steps that the
// study averages. The noise in G makes the samples spread more widely than the posterior.
func (r *records) langevin(seed uint64) (mean, sd []float64, cost Cost, err error) {
	p := r.play.Federation.Protocol
	descent, in := p.Method().(method.Stepped).Steps(), p.Study().Inference.Descent
	mechanism, err := r.mechanism()
	if err != nil {
		return nil, nil, cost, err
	}
	d := r.program.Dim()
	run := mechanism.Begin()
	streams := dpmech.Streams{Sampling: seeded.Stream(seed, purpose, 0), Noise: seeded.Stream(seed, purpose, 1)}
	extra := normals(seed, 2)
	theta, slope, e := r.start(), make([]float64, d), make([]float64, d)
	noisy := make([]int64, d)
	s := solver.NewSink(d)
	var rows []int32
	query := func(batch []uint32, sum *dpmech.Accumulator) error {
		rows = solver.AppendBatch(rows[:0], batch)
		s.Sum = sum
		// The clip of the query is infinite because the mechanism clips the gradients.
		return r.all.Each(&gpu.Query{Draws: [][]float64{theta}, Batch: rows, Clip: math.Inf(1)}, s)
	}
	schedule := gpu.LinearDecay{First: descent.StepSize, Last: descent.StepSize * in.Decay}
	// standard deviation of the noise in each element of the gradient estimate G
	noise := mechanism.Lattice().Float(mechanism.ShareSigma()) / descent.Rate
	unit := mechanism.Lattice().Step() / descent.Rate
	sample := newMoments(d)
	for t := range descent.Total {
		if err := run.Next(noisy, &streams, query); err != nil {
			return nil, nil, cost, err
		}
		clear(slope)
		r.program.LogPrior(theta, slope)
		eta := schedule.Rate(t, descent.Total)
		missing := math.Sqrt(max(0, eta-eta*eta/4*noise*noise))
		extra(e)
		for i, n := range noisy {
			theta[i] += eta/2*(slope[i]+unit*float64(n)) + missing*e[i]
		}
		if float64(descent.Total-t-1) < in.Average*float64(descent.Total) || t == descent.Total-1 {
			sample.add(theta)
		}
	}
	mean, sd = sample.found()
	cost, err = r.costOf(mechanism)
	return mean, sd, cost, err
}

func (r *records) mechanism() (*dpmech.SampledSum, error) {
	p := r.play.Federation.Protocol
	descent := p.Method().(method.Stepped).Steps()
	var sampling dpmech.Sampling = dpmech.FullBatch{}
	if descent.Rate < 1 {
		sampling = dpmech.Poisson{Rate: descent.Rate}
	}
	return dpmech.NewSampledSum(dpmech.SampledConfig{
		Sampling: sampling, Records: r.all.Rows(), Steps: descent.Total, Dim: r.program.Dim(),
		Clip: descent.Clip, NoiseMultiplier: p.Method().Noise().Multiplier, Adjacency: p.Study().Privacy.Adjacency,
	})
}

// moments accumulates the mean and variance of vectors by Welford's recurrence.
type moments struct {
	n             float64
	mean, squares []float64 // mean, and sum of squared differences from the mean
}

func newMoments(d int) *moments {
	return &moments{mean: make([]float64, d), squares: make([]float64, d)}
}

func (m *moments) add(theta []float64) {
	m.n++
	for i, x := range theta {
		apart := x - m.mean[i]
		m.mean[i] += apart / m.n
		m.squares[i] += apart * (x - m.mean[i])
	}
}

func (m *moments) found() (mean, sd []float64) {
	for _, s := range m.squares {
		sd = append(sd, max(math.Sqrt(s/max(1, m.n-1)), pointSD))
	}
	return m.mean, sd
}

// pointSD replaces a standard deviation of zero on the model's scale, because q needs a finite
// precision.
const pointSD = 1e-6
