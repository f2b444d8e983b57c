package sweep

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
	"fedpvi/sim"
	"fedpvi/sim/baseline"
)

// A row holds the results of one run.
type row struct {
	values map[string]float64
	trace  []tracePoint
}

// Run performs the runs that are still missing and writes their results in the order of the grid.
// It calls done with the number of runs so far. When ctx is done, it returns ctx's error and keeps
// the finished runs.
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
	for w := range max(1, workers) {
		wg.Go(func() {
			for i := range next {
				r, err := s.play(ctx, i, w)
				out <- finished{i, r, err}
			}
		})
	}
	// Runs start in order, but always fewer than window places after the oldest unfinished run. So
	// only few finished rows wait to be written.
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
	for range out { // the loop ends when all workers have ended
	}
	if errors.Is(failure, context.Canceled) {
		failure = context.Canceled
	}
	return errors.Join(failure, results.flush())
}

func (s *Spec) seed(index int) uint64 { return uint64(s.First + index%s.Seeds) }

// play performs a run. worker is the number of the goroutine, which determines the device.
func (s *Spec) play(ctx context.Context, index, worker int) (row, error) {
	cell, seed := index/s.Seeds, s.seed(index)
	st, err := s.study(cell, seed)
	if err != nil {
		return row{}, err
	}
	p, err := sim.NewPlay(st, sim.Options{StudyFile: s.Study, Seed: seed})
	if err != nil {
		return row{}, err
	}
	if st.Simulation.Baseline != study.NoBaseline {
		return playBaseline(p, seed)
	}
	if s.Devices != nil {
		if err := s.Devices.Use(p.Federation, worker, s.Runs()); err != nil {
			return row{}, err
		}
	}
	var trace []tracePoint
	err = p.Federation.Run(ctx, func(o *pvi.Outcome) error {
		if s.Trace == 0 || o.Sequence%s.Trace != 0 && o.Sequence != 1 {
			return nil
		}
		point, err := s.traceAt(p, o.Sequence)
		trace = append(trace, point)
		return err
	})
	if err != nil {
		return row{}, err
	}
	values, err := measure(p)
	if err != nil {
		return row{}, err
	}
	return row{values, trace}, addCoverage(values, p)
}

func playBaseline(p *sim.Play, seed uint64) (row, error) {
	cost, err := baseline.Play(p, seed)
	if err != nil {
		return row{}, err
	}
	values, err := measure(p)
	if err != nil {
		return row{}, err
	}
	values["claimed_epsilon"], values["true_epsilon"], values["sound_epsilon"] = cost.Claimed, cost.Proven, cost.Proven
	return row{values: values}, nil
}
