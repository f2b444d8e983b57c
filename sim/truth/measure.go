package truth

import (
	"context"
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/special"
	"fedpvi/pvi"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
	"fedpvi/sim"
	"fedpvi/sim/report"
)

// Measures compare a posterior with the truth, with the pooled posterior, and with the posterior
// after an ideal release. Shares and medians are taken over the coordinates of θ.
type Measures struct {
	// share of true coordinates within their 90 % intervals; nil if the truth is unknown
	Truth  *float64 `json:"truth,omitempty"`
	Pooled float64  `json:"pooled"` // probability that the pooled posterior gives to the 90 % intervals
	// probability that the pooled posterior gives to the prior's 90 % intervals
	Prior float64 `json:"prior"`

	Width float64 `json:"width"` // median over coordinates of the posterior sd divided by the ideal sd
	// median over coordinates of the posterior sd divided by the pooled posterior's sd
	WidthPooled float64 `json:"width_to_pooled"`
	Ideal       float64 `json:"ideal_to_prior"` // median over coordinates of the ideal sd divided by the prior's sd
	// distance between the posterior mean and the pooled mode, in pooled sds: root mean square over
	// coordinates
	RMS float64 `json:"rms"`
}

// A Replication is the result of simulating a cell once.
type Replication struct {
	Seed uint64 `json:"seed"`
	Measures

	// Kinds has separate measures for three kinds of coordinates: coefficients and scales, group
	// effects, and spreads of effects. It is nil without groups.
	Kinds map[string]*Measures `json:"kinds,omitempty"`

	// Spread is the posterior mean of the largest spread, on the scale of the predictor. A spread
	// is the sd of group effects. Spread is nil without groups.
	Spread *float64 `json:"spread,omitempty"`
	Zero   bool     `json:"zero,omitempty"` // whether the 95 % intervals of all spreads contain 0

	// Log is the mean log predictive density of held-out records, on the model's scale.
	Log       float64 `json:"log"`
	LogPrior  float64 `json:"log_prior"`
	LogPooled float64 `json:"log_pooled"`

	// Accuracy is the share of held-out records with the outcome that was predicted to be the most
	// likely one. It is nil if the outcome is a number.
	Accuracy *float64 `json:"accuracy,omitempty"`

	// Grid has the scores of private gradient steps for each setting of the grid, if the grid was
	// simulated.
	Grid []Score `json:"grid,omitempty"`

	Seconds float64 `json:"seconds"` // computing time in seconds of the federation alone, on one core
	Failed  string  `json:"failed,omitempty"`
}

// z90 is the 95 % quantile of the standard normal distribution.
const z90 = 1.6448536269514722

// Play simulates a cell once. If the federation fails, the result says so. clock returns the time
// in seconds.
func (c *Cell) Play(ctx context.Context, seed uint64, clock func() float64) (*Replication, error) {
	f, err := c.federation(seed, nil)
	if err != nil {
		return nil, err
	}
	r := &Replication{Seed: seed}
	began := clock()
	err = f.Run(ctx, func(*pvi.Outcome) error { return nil })
	r.Seconds = clock() - began
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil {
		err = r.measure(c, f.world, f.Federation)
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
	all, err := newPooled(m, clients)
	if m.Centred() {
		all, err = newAveraged(f, clients)
	}
	if err != nil {
		return err
	}
	noise, err := totalNoise(f.Protocol)
	if err != nil {
		return err
	}
	var ideal []float64
	if w.study.Privacy.Unit == study.Client {
		ideal, err = all.idealOfClients(noise, w.between)
	} else {
		ideal, err = all.ideal(noise)
	}
	if err != nil {
		return err
	}
	p := &played{fit: all, ideal: ideal, truth: w.truth}
	kinds := map[string][]int{}
	for i, x := range mean {
		parameter := m.Parameters.At(i)
		p.own, p.prior = append(p.own, study.Normal{Mean: x, SD: math.Sqrt(cov.At(i, i))}), append(p.prior, parameter.Prior)
		if m.Centred() {
			kinds[kindOf(m, i)] = append(kinds[kindOf(m, i)], i)
		}
		kinds[""] = append(kinds[""], i)
	}
	r.Measures = p.measures(kinds[""])
	if m.Centred() {
		r.Kinds = map[string]*Measures{}
		for _, kind := range Kinds {
			of := p.measures(kinds[kind])
			r.Kinds[kind] = &of
		}
		largest := 0.0
		r.Zero = true
		for _, e := range m.Effects() {
			q := p.own[e.Spread]
			largest = max(largest, q.Mean*w.half)
			r.Zero = r.Zero && q.Mean <= fit.Normal95*q.SD
		}
		r.Spread = &largest
	}
	return r.predict(w, f, all)
}

// Kinds are the kinds of coordinates in a model with groups. A spread is the sd of their effects.
var Kinds = []string{"coefficients", "effects", "spreads"}

func kindOf(m *fit.Model, i int) string {
	if _, ok := m.Spread(i); ok {
		return Kinds[1]
	}
	for _, e := range m.Effects() {
		if i == e.Spread {
			return Kinds[2]
		}
	}
	return Kinds[0]
}

// A played holds the posterior marginals of a run, and the numbers with which they are compared.
type played struct {
	own, prior []study.Normal
	fit        *pooled
	ideal      []float64 // variances
	truth      []float64
}

func (p *played) measures(coordinates []int) (m Measures) {
	var width, wide, gain []float64
	for _, i := range coordinates {
		q, sd := p.own[i], math.Sqrt(p.fit.cov.At(i, i))
		width, wide = append(width, q.SD/math.Sqrt(p.ideal[i])), append(wide, q.SD/sd)
		gain = append(gain, math.Sqrt(p.ideal[i])/p.prior[i].SD)
		off := (q.Mean - p.fit.mode[i]) / sd
		m.RMS += off * off / float64(len(coordinates))
	}
	m.Width, m.WidthPooled, m.Ideal, m.RMS = median(width), median(wide), median(gain), math.Sqrt(m.RMS)
	m.Pooled, m.Prior, m.Truth = p.hold(p.own, coordinates), p.hold(p.prior, coordinates), p.covers(coordinates)
	return m
}

// totalNoise returns the sd of the noise that an ideal method would add to the sum of all clients'
// vectors. The method makes a single release with clip 1, at the same cost as the study.
func totalNoise(p *pvi.Protocol) (float64, error) {
	view := p.Views()[0]
	cost, err := p.Cost(view, p.Study().Privacy.Adjacency, p.Releases())
	if err != nil {
		return 0, err
	}
	return math.Sqrt(float64(len(p.Roster()))/float64(view.Shares)) / cost.Mu, nil
}

func (r *Replication) predict(w *world, f *sim.Federation, fit *pooled) error {
	m, family := f.Protocol.Model(), gaussian.Full(len(fit.mode))
	test := shard.Design(w.study, w.test)
	score := func(dst *Score, mean []float64, cov mat.Symmetric) error {
		natural := make([]float64, family.Size())
		if err := family.FromMoments(natural, mean, cov); err != nil {
			return err
		}
		all, err := m.Predict(test, family, natural)
		*dst = newScore(&w.study.Model, all)
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
	var own, prior, pooled Score
	err = errors.Join(score(&own, mean, cov), score(&prior, start, before), score(&pooled, fit.mode, fit.cov))
	r.Log, r.Accuracy, r.LogPrior, r.LogPooled = own.Log, own.Accuracy, prior.Log, pooled.Log
	return err
}

// hold returns the probability that the pooled posterior gives to 90 % intervals, averaged over
// coordinates.
func (p *played) hold(marginals []study.Normal, coordinates []int) (share float64) {
	for _, i := range coordinates {
		q, sd := marginals[i], math.Sqrt(p.fit.cov.At(i, i))
		high, low := (q.Mean+z90*q.SD-p.fit.mode[i])/sd, (q.Mean-z90*q.SD-p.fit.mode[i])/sd
		share += (special.Phi(high) - special.Phi(low)) / float64(len(coordinates))
	}
	return share
}

// covers returns the share of true coordinates within their 90 % intervals, or nil if no true value
// is known.
func (p *played) covers(coordinates []int) *float64 {
	within, of := 0, 0
	for _, i := range coordinates {
		if p.truth != nil && !math.IsNaN(p.truth[i]) {
			of++
			within += count(math.Abs(p.truth[i]-p.own[i].Mean) <= z90*p.own[i].SD)
		}
	}
	if of == 0 {
		return nil
	}
	share := float64(within) / float64(of)
	return &share
}

func median(values []float64) float64 { return report.Quantile(values, .5) }
