package sweep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// A row is what one run found.
type row struct {
	values map[string]float64 // by metric
	trace  []tracePoint
}

type tracePoint struct {
	round       int
	kl, epsilon float64
}

var traceMetrics = []string{"kl", "epsilon"}

// Run runs what is missing of the sweep with the given number of workers, and
// calls done after every run with how many there are so far. Results come in
// the order of the grid. If ctx is done, Run returns its error, and what was
// finished is kept.
func (s *Spec) Run(ctx context.Context, results *Results, workers int, done func(runs int)) error {
	first := results.Runs()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type finished struct {
		index int
		row   row
		err   error
	}
	next := make(chan int)
	out := make(chan finished)
	var wg sync.WaitGroup
	for range max(1, workers) {
		wg.Go(func() {
			for i := range next {
				r, err := s.play(ctx, i)
				out <- finished{i, r, err}
			}
		})
	}
	// Runs are handed out in order and at most this far ahead of the oldest
	// that is not finished, so that waiting rows stay few.
	window := 4 * max(1, workers)
	waiting := map[int]row{}
	index, running := first, 0
	var failure error
	for at := first; at < s.Runs() && failure == nil; {
		var feed chan int
		if index < s.Runs() && index < at+window && ctx.Err() == nil {
			feed = next
		}
		if feed == nil && running == 0 {
			failure = ctx.Err()
			break
		}
		select {
		case feed <- index:
			index++
			running++
		case f := <-out:
			running--
			if f.err != nil {
				failure = fmt.Errorf("run %d (%s, seed %d): %w", f.index+1, s.describe(f.index/s.Seeds), s.seed(f.index), f.err)
				break
			}
			waiting[f.index] = f.row
			for r, ok := waiting[at]; ok && failure == nil; r, ok = waiting[at] {
				delete(waiting, at)
				if failure = results.add(at, r); failure == nil {
					at++
					done(at)
				}
			}
		}
	}
	cancel()
	close(next)
	go func() { wg.Wait(); close(out) }()
	for range out { // let the others end
	}
	if errors.Is(failure, context.Canceled) {
		failure = context.Canceled
	}
	return errors.Join(failure, results.flush())
}

func (s *Spec) seed(index int) uint64 { return uint64(index%s.Seeds) + 1 }

// play does one run.
func (s *Spec) play(ctx context.Context, index int) (row, error) {
	cell, seed := index/s.Seeds, s.seed(index)
	st, err := s.study(cell, seed)
	if err != nil {
		return row{}, err
	}
	p, err := sim.NewPlay(st, sim.Options{StudyFile: s.Study, Seed: seed})
	if err != nil {
		return row{}, err
	}
	f := p.Federation
	var trace []tracePoint
	err = f.Run(ctx, func(o *pvi.Outcome) error {
		if s.Trace == 0 || o.Sequence%s.Trace != 0 && o.Sequence != 1 {
			return nil
		}
		kl, err := p.KL()
		if err != nil {
			return err
		}
		epsilon, err := truth(f.Protocol, o.Sequence)
		trace = append(trace, tracePoint{o.Sequence, kl, epsilon})
		return err
	})
	if err != nil {
		return row{}, err
	}
	values, err := s.measure(p)
	return row{values, trace}, err
}

// measure computes the metrics of a finished run.
func (s *Spec) measure(p *sim.Play) (map[string]float64, error) {
	f := p.Federation
	kl, err := p.KL()
	if err != nil {
		return nil, err
	}
	family := f.Protocol.Family()
	mean, cov, err := family.Moments(f.Server.Posterior())
	if err != nil {
		return nil, err
	}
	refMean, refCov, err := p.Reference.Moments()
	if err != nil {
		return nil, err
	}
	// Error of the mean in units of the reference's sd, and ratio of sds, root
	// mean square over coefficients.
	var apart, ratio float64
	for j := range mean {
		apart += (mean[j] - refMean[j]) * (mean[j] - refMean[j]) / refCov.At(j, j)
		ratio += cov.At(j, j) / refCov.At(j, j)
	}
	d := float64(len(mean))
	values := map[string]float64{
		"kl":         kl,
		"mean_error": math.Sqrt(apart / d),
		"sd_ratio":   math.Sqrt(ratio / d),
		"accepted":   float64(f.Count(pvi.Accepted)),
		"rejected":   float64(f.Count(pvi.Rejected)),
	}
	if f.Protocol.Study().Privacy.Unit == study.None {
		return values, nil
	}
	claimed, truth, sound, err := f.Protocol.OutsideCosts(f.Protocol.Releases())
	values["claimed_epsilon"], values["true_epsilon"], values["sound_epsilon"] = claimed.Epsilon, truth.Epsilon, sound.Epsilon
	return values, err
}

// truth is what the rounds so far really gave away to an outsider, NaN if the study
// makes no promise.
func truth(p *pvi.Protocol, round int) (float64, error) {
	if p.Study().Privacy.Unit == study.None {
		return nan, nil
	}
	_, truth, _, err := p.OutsideCosts(p.ReleasesAfter(round))
	return truth.Epsilon, err
}
