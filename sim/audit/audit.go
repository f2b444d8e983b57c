package audit

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Options configure an audit.
type Options struct {
	Seed    uint64
	Workers int  // number of goroutines; 1 if 0
	Runs    int  // number of runs of each attack in each world; 0 means [DefaultRuns]
	First   bool // stop after the first check that fails

	// Ahead, if not empty, is the case whose checks run first. The order matters only if the audit
	// stops at the first finding.
	Ahead string

	// Progress, if not nil, is called after every check, never concurrently.
	Progress func(done, of int, c Check)
}

// DefaultRuns is the number of runs of an attack in each world. It is large enough that nearly
// every attack notices noise of half the claimed size, and that some notice noise that is a fifth
// too small. The direct checks of the noise find both faults.
const DefaultRuns = 3000

// For every pilotShare test runs, an attack makes one pilot run to learn its statistics.
const pilotShare = 4

// leastPilot is the minimum number of pilot runs.
const leastPilot = 100

// A Report is the result of an audit.
type Report struct {
	Seed       uint64  `json:"seed"`
	FalseAlarm float64 `json:"false_alarm"` // probability that an audit of correct code reports a finding
	Checks     []Check `json:"checks"`
	Passed     bool    `json:"passed"`
}

// Findings returns the checks that failed.
func (r *Report) Findings() []Check {
	var findings []Check
	for _, c := range r.Checks {
		if !c.Passed {
			findings = append(findings, c)
		}
	}
	return findings
}

// An Auditor runs audits. It computes a claimed privacy profile when an audit first needs it, and
// keeps it for later audits.
type Auditor struct{ questions []question }

// New returns an auditor.
func New() (*Auditor, error) {
	questions, err := suite()
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	return &Auditor{questions}, nil
}

// Run runs an audit. The result depends only on the seed and the number of runs, unless the audit
// stops at the first finding. An error means that the audit could not be completed.
func (a *Auditor) Run(ctx context.Context, o Options) (*Report, error) {
	if o.Runs == 0 {
		o.Runs = DefaultRuns
	}
	checks, err := a.answer(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	r := &Report{Seed: o.Seed, FalseAlarm: FalseAlarm, Checks: checks, Passed: true}
	for _, c := range checks {
		r.Passed = r.Passed && c.Passed
	}
	return r, nil
}

// answer asks all questions on several goroutines, beginning with those about the case o.Ahead. It
// returns the checks in the order of the questions.
func (a *Auditor) answer(ctx context.Context, o Options) ([]Check, error) {
	questions := a.questions
	var order []int
	for _, ahead := range []bool{true, false} {
		for i, q := range questions {
			if (q.about == o.Ahead) == ahead {
				order = append(order, i)
			}
		}
	}
	of := a.checks()
	each := task{o.Seed, o.Runs, FalseAlarm / float64(of)}
	all, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	all.SetLimit(max(1, o.Workers))
	var (
		mu     sync.Mutex
		checks = make([][]Check, len(questions))
		found  bool
		done   int
	)
	for _, i := range order {
		all.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			answers, err := questions[i].answer(ctx, each)
			mu.Lock()
			defer mu.Unlock()
			if err != nil || found {
				return err
			}
			checks[i] = answers
			for _, c := range answers {
				done++
				if o.Progress != nil {
					o.Progress(done, of, c)
				}
				found = found || o.First && !c.Passed
			}
			if found {
				stop()
			}
			return nil
		})
	}
	err := all.Wait()
	if found { // the audit stopped at a finding, which may have made the remaining questions fail
		err = nil
	}
	return slices.Concat(checks...), err
}

func (a *Auditor) checks() int {
	n := 0
	for _, q := range a.questions {
		n += len(q.names)
	}
	return n
}
