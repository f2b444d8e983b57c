package audit

import (
	"context"
	"sync"
)

// Options say how an audit is made.
type Options struct {
	Seed    uint64
	Workers int  // goroutines; 1 if 0
	Runs    int  // of each attack in each world; [DefaultRuns] if 0
	First   bool // stop at the first check that does not pass

	// Progress is called after every check, from one goroutine at a time; nil
	// for none.
	Progress func(done, of int, c Check)
}

// DefaultRuns is how often an attack is played in each world. It takes that many
// to notice noise that is a fifth too small; direct checks notice less.
const DefaultRuns = 3000

// pilotShare is the part of an attack's runs that it learns from beforehand.
const pilotShare = 4

// A Report is what an audit found.
type Report struct {
	Seed       uint64  `json:"seed"`
	FalseAlarm float64 `json:"false_alarm"` // probability of a finding if all promises are kept
	Checks     []Check `json:"checks"`
	Passed     bool    `json:"passed"`
}

// Findings returns the checks that did not pass.
func (r *Report) Findings() []Check {
	var findings []Check
	for _, c := range r.Checks {
		if !c.Passed {
			findings = append(findings, c)
		}
	}
	return findings
}

// Run makes an audit. Its result depends on the seed and the number of runs alone,
// unless it stops at the first finding. An error means that it could not be made.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Runs == 0 {
		o.Runs = DefaultRuns
	}
	questions, err := suite(o.Seed, o.Runs)
	if err != nil {
		return nil, err
	}
	checks, err := answer(ctx, questions, o)
	if err != nil {
		return nil, err
	}
	r := &Report{Seed: o.Seed, FalseAlarm: FalseAlarm, Checks: checks, Passed: true}
	for _, c := range checks {
		r.Passed = r.Passed && c.Passed
	}
	return r, nil
}

// answer answers questions on several goroutines, in order, so that the quick ones
// come first.
func answer(ctx context.Context, questions []question, o Options) ([]Check, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var (
		mu     sync.Mutex
		wg     sync.WaitGroup
		next   int
		checks = make([]*Check, len(questions))
		first  error
		found  bool
		done   int
	)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1, next <= len(questions) && first == nil && !found
	}
	settle := func(i int, c Check, err error) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case found: // others were stopped because of it
		case err != nil && first == nil:
			first = err
			stop()
		case err == nil:
			checks[i] = &c
			done++
			if o.Progress != nil {
				o.Progress(done, len(questions), c)
			}
			if o.First && !c.Passed {
				found = true
				stop()
			}
		}
	}
	for range max(1, o.Workers) {
		wg.Go(func() {
			for {
				i, ok := take()
				if !ok {
					return
				}
				c, err := questions[i].answer(ctx, FalseAlarm/float64(len(questions)))
				settle(i, c, err)
			}
		})
	}
	wg.Wait()
	var out []Check
	for _, c := range checks {
		if c != nil {
			out = append(out, *c)
		}
	}
	return out, first
}
