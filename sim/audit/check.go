package audit

import (
	"context"
	"fmt"
)

// FalseAlarm is the probability with which an audit of code that keeps its
// promises finds something all the same, over all its tests together.
const FalseAlarm = 1e-6

// A Check is one question that an audit asked, and the answer.
type Check struct {
	Case   string `json:"case"` // what was played
	Name   string `json:"name"` // what was looked at
	Passed bool   `json:"passed"`
	Detail string `json:"detail"` // what was seen, in words

	// P is the probability that code which keeps its promises shows at least as
	// much, over all tests of the check; nil if there is no chance in it.
	P *float64 `json:"p,omitempty"`

	Profile *Profile `json:"profile,omitempty"` // of an attack
}

// A question is a check to be made. Answering it, code that keeps its promises
// fails with a probability of at most alpha.
type question struct {
	context string // the check's Case
	name    string
	ask     func(ctx context.Context, alpha float64) (Check, error)
}

func (q question) answer(ctx context.Context, alpha float64) (Check, error) {
	c, err := q.ask(ctx, alpha)
	if err != nil {
		return c, fmt.Errorf("%s: %s: %w", q.context, q.name, err)
	}
	c.Case, c.Name = q.context, q.name
	return c, nil
}

// certain is the answer to a question without chance.
func certain(passed bool, format string, args ...any) Check {
	return Check{Passed: passed, Detail: fmt.Sprintf(format, args...)}
}

// A trial is one of several tests of a check.
type trial struct {
	p    float64
	says string
}

// judge answers a question by the most unusual of its trials, at the level alpha
// over all of them.
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
