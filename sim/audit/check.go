package audit

import (
	"context"
	"fmt"
	"strings"
)

// FalseAlarm is the probability that an audit of correct code reports any finding, over all its
// tests together.
const FalseAlarm = 1e-6

// A Check is one question of an audit with its answer.
type Check struct {
	Case   string `json:"case"` // the case that was played
	Name   string `json:"name"` // the property that was tested
	Passed bool   `json:"passed"`
	Detail string `json:"detail"` // the observation, for people

	// P is the p-value of the check: the probability that correct code gives an observation at
	// least as unusual, over all tests of the check. It is nil if no chance is involved.
	P *float64 `json:"p,omitempty"`

	Profile *Profile `json:"profile,omitempty"` // of an attack
}

// A task holds what a question needs to know about the audit that asks it.
type task struct {
	seed uint64
	runs int // of an attack in each world

	// alpha is the probability with which correct code may fail.
	alpha float64
}

// A question produces one or several checks in one run.
type question struct {
	about string   // the checks' Case
	names []string // of the checks
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

// certain returns a check that involves no chance, so it has no p-value.
func certain(passed bool, format string, args ...any) Check {
	return Check{Passed: passed, Detail: fmt.Sprintf(format, args...)}
}

// A trial is the p-value of one of several tests of a check, with its description.
type trial struct {
	p    float64
	says string
}

// judge returns a check from the trial with the smallest p-value. The level alpha holds for all
// trials together.
func judge(trials []trial, alpha float64) Check {
	least := 0
	for i, t := range trials {
		if t.p < trials[least].p {
			least = i
		}
	}
	p := min(1, trials[least].p*float64(len(trials)))
	return Check{Passed: p >= alpha, P: &p, Detail: trials[least].says}
}
