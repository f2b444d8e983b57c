package tune

import (
	"context"
	"fmt"
	"math"
	"slices"

	"fedpvi/internal/guard"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// Chosen is the result of a [Selection].
type Chosen struct {
	Candidate int
	Play      *sim.Play
	Result    *sim.Result // result of the run, with the cost of the whole selection
}

// Run runs every candidate, calls done after each, scores the candidates and chooses one. It
// repeats the chosen run, bit for bit, and calls observe after each outcome of it. The result has
// the cost of the whole selection.
func (s *Selection) Run(ctx context.Context, done func(candidates, of int), observe func(*sim.Play, sim.Status) error) (*Chosen, error) {
	rivals, err := sim.NewRivals(s.base, asideShare, sim.Options{StudyFile: s.o.Study, DataFile: s.o.Data, Seed: s.o.Seed, Workers: s.o.Workers})
	if err != nil {
		return nil, err
	}
	results := make([]*sim.Result, len(s.candidates))
	for k := range s.candidates {
		if _, results[k], err = s.play(ctx, rivals, k, nil); err != nil {
			return nil, fmt.Errorf("candidate %s: %w", s.candidates[k], err)
		}
		done(k+1, len(s.candidates))
	}
	totals, err := s.release(rivals, results)
	if err != nil {
		return nil, err
	}
	best := slices.Index(totals, slices.Max(totals))
	c := &Chosen{Candidate: best}
	spent, _, err := s.cost(s.base.Privacy.Adjacency)
	if err != nil {
		return nil, err
	}
	seen := func(p *sim.Play, status sim.Status) error {
		if status.Epsilon != nil {
			status.Epsilon = &spent // the repeated run releases nothing new, so it costs nothing more
		}
		return observe(p, status)
	}
	if c.Play, c.Result, err = s.play(ctx, rivals, best, seen); err != nil {
		return nil, err
	}
	c.Result.Seed = s.o.Seed
	return c, s.charge(c.Result, best, totals)
}

func (s *Selection) play(ctx context.Context, rivals *sim.Rivals, k int, observe func(*sim.Play, sim.Status) error) (*sim.Play, *sim.Result, error) {
	st, err := s.study(k, s.multiplier[k])
	if err != nil {
		return nil, nil, err
	}
	p, err := rivals.NewPlay(st, k)
	if err != nil {
		return nil, nil, err
	}
	if observe == nil {
		observe = func(*sim.Play, sim.Status) error { return nil }
	} else if err := observe(p, sim.Status{}); err != nil {
		return nil, nil, err
	}
	r, err := p.Run(ctx, func(status sim.Status) error { return observe(p, status) })
	return p, r, err
}

// release returns each candidate's noisy score, summed over all clients.
func (s *Selection) release(rivals *sim.Rivals, results []*sim.Result) ([]float64, error) {
	totals := make([]float64, len(results))
	dst, sum := make([]int64, len(results)), make([]int64, len(results))
	for m, aside := range rivals.Aside {
		vectors, err := s.vectors(aside, results)
		if err != nil {
			return nil, err
		}
		err = s.scores.Release(dst, sum, rivals.ScoreNoise(m), func(add func([]float64) error) error {
			for _, v := range vectors {
				if err := add(v); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("scores: %w", err)
		}
		for k, n := range dst {
			totals[k] += s.scores.Lattice().Float(n)
		}
	}
	return totals, nil
}

// vectors returns a vector for each record: the record's scores under all candidates, minus their
// mean. The vector is zero if the scores cannot be computed. It depends only on its record and on
// the results of the runs, which are public. An error means that the results are faulty, and does
// not depend on records.
func (s *Selection) vectors(records *shard.Records, results []*sim.Result) ([][]float64, error) {
	if _, err := s.scoresOf(records.Select(nil), results); err != nil {
		return nil, err
	}
	vectors, rows := make([][]float64, records.Len()), make([]int, records.Len())
	for i := range rows {
		vectors[i], rows[i] = make([]float64, len(results)), i
	}
	if len(rows) == 0 {
		return vectors, nil
	}
	var scores [][]float64
	return vectors, guard.Batch(rows, func(some []int) {
		var err error
		if scores, err = s.scoresOf(records.Select(some), results); err != nil {
			panic(err) // guard.Batch recovers from this panic and skips the record that caused it
		}
	}, func(some []int) error {
		for i, row := range some {
			centre(scores[i])
			vectors[row] = scores[i]
		}
		return nil
	})
}

func (s *Selection) scoresOf(records *shard.Records, results []*sim.Result) ([][]float64, error) {
	scores := make([][]float64, records.Len())
	for i := range scores {
		scores[i] = make([]float64, len(results))
	}
	for k, r := range results {
		p := s.protocols[k]
		all, err := p.Model().Predict(shard.Design(p.Study(), records), p.Family(), r.Natural)
		if err != nil {
			return nil, err
		}
		for i, prediction := range all {
			scores[i][k] = s.o.Score.value(p.Study(), prediction)
		}
	}
	return scores, nil
}

func centre(v []float64) {
	var mean float64
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for i := range v {
		v[i] -= mean
	}
}

func (s Score) value(st *study.Study, p fit.Prediction) float64 {
	if s == LogLikelihood {
		return math.Max(p.LogDensity, leastLog)
	}
	right := (p.Mean > 0.5) == (p.Outcome == 1)
	if st.Model.Kind() == study.Class {
		right = slices.Index(p.Classes, slices.Max(p.Classes)) == int(p.Outcome)
	}
	if right {
		return 1
	}
	return 0
}

// leastLog is the smallest log density that counts for a record. If −∞ counted, the record's vector
// would be infinite, and the mechanism would replace it by zero.
const leastLog = -1e6

// charge replaces the cost in r, which is for a single run, by the cost of the whole selection. It
// also adds the choice.
func (s *Selection) charge(r *sim.Result, best int, totals []float64) error {
	p := r.Privacy.Promise
	c := &sim.Selection{
		Score: string(s.o.Score), Chosen: best, ScoreClip: s.scores.Clip(), ScoreNoise: s.scores.NoiseMultiplier(), Totals: totals,
	}
	for k, candidate := range s.candidates {
		c.Candidates = append(c.Candidates, candidate.String())
		c.Releases += s.protocols[k].Releases()
	}
	p.Selection = c
	for i := range p.Views {
		v := &p.Views[i]
		var err error
		if v.Epsilon, v.Mu, err = s.cost(v.Adjacency); err != nil {
			return err
		}
		if v.Adjacency == p.Adjacency {
			p.Epsilon, p.Mu = v.Epsilon, v.Mu
		}
	}
	all := sim.Outside{Epsilon: p.Epsilon, Mu: p.Mu}
	p.Claimed, p.True, p.Proven = all, all, all
	return nil
}
