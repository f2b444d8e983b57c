package truth

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/special"
	"fedpvi/pvi"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// A Replication is what one play of a cell shows. Shares and medians are over the coordinates of
// θ.
type Replication struct {
	Seed uint64 `json:"seed"`

	Truth  *float64 `json:"truth,omitempty"` // share of true coordinates within 90 % intervals; nil if there is no truth
	Pooled float64  `json:"pooled"`          // share of the mass of the pooled posterior within them
	Prior  float64  `json:"prior"`           // share of that mass within 90 % intervals of the prior

	Width       float64 `json:"width"`           // median of sd over that of the ideal
	WidthPooled float64 `json:"width_to_pooled"` // median of sd over that of the pooled posterior
	Ideal       float64 `json:"ideal_to_prior"`  // median of the ideal's sd over the prior's
	RMS         float64 `json:"rms"`             // root mean square error of the mean against the pooled mode, in pooled sds

	// Mean log predictive density of held-out records, on the model's scale.
	Log       float64 `json:"log"`
	LogPrior  float64 `json:"log_prior"`
	LogPooled float64 `json:"log_pooled"`

	Seconds float64 `json:"seconds"` // of the federation alone, on one core
	Failed  string  `json:"failed,omitempty"`
}

// z90 is the 95 % quantile of the standard normal distribution.
const z90 = 1.6448536269514722

// Play plays a cell once. A failure of the federation is recorded in the result. clock returns a
// time in seconds.
func (c *Cell) Play(ctx context.Context, seed uint64, clock func() float64) (*Replication, error) {
	w, err := c.world(seed)
	if err != nil {
		return nil, fmt.Errorf("cell %d, seed %d: %w", c.Number, seed, err)
	}
	r := &Replication{Seed: seed}
	f, err := sim.New(w.study, w.holders, seed*1_000_003+uint64(c.Number), 1)
	if err != nil {
		return nil, fmt.Errorf("cell %d: %w", c.Number, err)
	}
	began := clock()
	err = f.Run(ctx, func(*pvi.Outcome) error { return nil })
	r.Seconds = clock() - began
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil {
		err = r.measure(c, w, f)
	}
	if err != nil {
		r.Failed = err.Error()
	}
	return r, nil
}

func (r *Replication) measure(c *Cell, w *world, f *sim.Federation) error {
	m := f.Protocol.Model()
	mean, cov, err := f.Protocol.Family().Moments(f.Server.Posterior())
	if err != nil {
		return err
	}
	var clients []*solver.Regression
	for _, s := range f.Shards {
		clients = append(clients, m.Regression(s))
	}
	fit, err := newPooled(m, clients)
	if err != nil {
		return err
	}
	noise, err := totalNoise(f.Protocol)
	if err != nil {
		return err
	}
	ideal, err := fit.ideal(noise, w.study.Privacy.Unit == study.Client)
	if err != nil {
		return err
	}
	var own, prior normals
	for i, x := range mean {
		p := m.Parameters.Prior(i)
		own, prior = append(own, study.Normal{Mean: x, SD: math.Sqrt(cov.At(i, i))}), append(prior, p)
	}
	r.Pooled, r.Prior, r.Truth = own.hold(fit), prior.hold(fit), own.covers(w.truth)
	var width, wide, gain []float64
	for i, q := range own {
		sd := math.Sqrt(fit.cov.At(i, i))
		width, wide = append(width, q.SD/math.Sqrt(ideal[i])), append(wide, q.SD/sd)
		gain = append(gain, math.Sqrt(ideal[i])/prior[i].SD)
		off := (q.Mean - fit.mode[i]) / sd
		r.RMS += off * off / float64(len(own))
	}
	r.Width, r.WidthPooled, r.Ideal, r.RMS = median(width), median(wide), median(gain), math.Sqrt(r.RMS)
	return r.predict(w, f, fit)
}

// totalNoise returns the sd of the noise in a sum of all clients' vectors, for one release with
// clip 1 that spends the whole budget.
func totalNoise(p *pvi.Protocol) (float64, error) {
	view := p.Views()[0]
	cost, err := p.Cost(view, p.Study().Privacy.Adjacency, p.Releases())
	if err != nil {
		return 0, err
	}
	return math.Sqrt(float64(len(p.Roster()))/float64(view.Shares)) / cost.Mu, nil
}

// predict computes the log densities of held-out records.
func (r *Replication) predict(w *world, f *sim.Federation, fit *pooled) error {
	m, family := f.Protocol.Model(), gaussian.Full(len(fit.mode))
	test := shard.Design(w.study, w.test)
	score := func(dst *float64, mean []float64, cov mat.Symmetric) error {
		natural := make([]float64, family.Size())
		if err := family.FromMoments(natural, mean, cov); err != nil {
			return err
		}
		all, err := m.Predict(test, family, natural)
		for _, p := range all {
			*dst += p.LogDensity / float64(len(all))
		}
		return err
	}
	mean, cov, err := f.Protocol.Family().Moments(f.Server.Posterior())
	if err != nil {
		return err
	}
	before := mat.NewDiagDense(len(mean), nil)
	start := make([]float64, len(mean))
	for i := range mean {
		p := m.Parameters.Prior(i)
		start[i] = p.Mean
		before.SetDiag(i, p.SD*p.SD)
	}
	if err := score(&r.Log, mean, cov); err != nil {
		return err
	}
	if err := score(&r.LogPrior, start, before); err != nil {
		return err
	}
	return score(&r.LogPooled, fit.mode, fit.cov)
}

// normals are the marginals of a distribution.
type normals []study.Normal

// hold returns the share of the mass of the pooled posterior within the 90 % intervals of n, over
// coordinates.
func (n normals) hold(f *pooled) (share float64) {
	for i, q := range n {
		sd := math.Sqrt(f.cov.At(i, i))
		high, low := (q.Mean+z90*q.SD-f.mode[i])/sd, (q.Mean-z90*q.SD-f.mode[i])/sd
		share += (special.Phi(high) - special.Phi(low)) / float64(len(n))
	}
	return share
}

// covers returns the share of true coordinates within 90 % intervals, or nil if none is true.
func (n normals) covers(truth []float64) *float64 {
	within, of := 0, 0
	for i, x := range truth {
		if !math.IsNaN(x) {
			of++
			within += count(math.Abs(x-n[i].Mean) <= z90*n[i].SD)
		}
	}
	if of == 0 {
		return nil
	}
	share := float64(within) / float64(of)
	return &share
}

// median returns the median of values, or NaN if there are none.
func median(values []float64) float64 { return quantile(values, .5) }

// quantile returns a quantile of values by linear interpolation, or NaN if there are none.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}
