package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// FalseAlarm is the maximum probability that any test in an audit of correct code reports a
// finding.
const FalseAlarm = 1e-6

// A Check is the result of one test of an audit.
type Check struct {
	Case   string `json:"case"` // the mechanism or study that was tested
	Name   string `json:"name"` // the property that was tested
	Passed bool   `json:"passed"`
	Detail string `json:"detail"` // description of the observation

	// P is the p-value of the check: the probability that correct code gives an observation at
	// least as unusual in any of the check's tests. It is nil if chance plays no part in the check.
	P *float64 `json:"p,omitempty"`

	Profile *Profile `json:"profile,omitempty"` // result of an attack; nil if the check is not an attack
}

// A task holds the parameters that all checks of an audit share.
type task struct {
	seed uint64
	runs int // number of runs of an attack in each world

	// alpha is the largest probability that the check fails on correct code.
	alpha float64
}

// A question is a unit of work of an audit: one simulation or computation, and the checks that
// follow from it.
type question struct {
	about string // the Case of the checks
	names []string
	ask   func(ctx context.Context, t task) ([]Check, error)
}

// single returns a question with one check.
func single(about, name string, ask func(ctx context.Context, t task) (Check, error)) question {
	return question{about, []string{name}, func(ctx context.Context, t task) ([]Check, error) {
		c, err := ask(ctx, t)
		return []Check{c}, err
	}}
}

func (q question) answer(ctx context.Context, t task) ([]Check, error) {
	checks, err := q.ask(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", q.about, strings.Join(q.names, ", "), err)
	}
	for i := range checks {
		checks[i].Case, checks[i].Name = q.about, q.names[i]
	}
	return checks, nil
}

// certain returns a check without a p-value, for a test in which chance plays no part.
func certain(passed bool, format string, args ...any) Check {
	return Check{Passed: passed, Detail: fmt.Sprintf(format, args...)}
}

// A trial is the p-value and the description of one of the tests that [judge] combines.
type trial struct {
	p    float64
	says string
}

// judge combines trials into one check, which describes the trial with the smallest p-value. The
// p-value is multiplied by the number of trials, so that the check fails with probability at most
// alpha on correct code.
func judge(trials []trial, alpha float64) Check {
	least := slices.MinFunc(trials, func(a, b trial) int { return cmp.Compare(a.p, b.p) })
	p := min(1, least.p*float64(len(trials)))
	return Check{Passed: p >= alpha, P: &p, Detail: least.says}
}
