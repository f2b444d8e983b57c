package report

import (
	"bytes"
	"strings"
	"testing"

	"fedpvi/pvi"
	"fedpvi/pvi/session"
)

// Without influences of clients, there must be no second table and no second panel.
func TestTrace(t *testing.T) {
	round := func(plan int, distance []float64, influences ...pvi.Influence) session.TracedRound {
		return session.TracedRound{Round: session.Round{Plan: plan, Verdict: pvi.Accepted, SDs: "q", Influences: influences}, Distance: distance}
	}
	trace := &session.Trace{Names: []string{"intercept", "age"}, SDs: "the posterior", Rounds: []session.TracedRound{
		round(4, []float64{3, -4}, pvi.Influence{Client: "a", Norm: 2, Shift: .5}, pvi.Influence{Client: "b", Norm: 1, Shift: .25}),
		round(5, []float64{0, 0}, pvi.Influence{Client: "a", Norm: 1, Shift: .75}, pvi.Influence{Client: "b", Norm: 3, Blocks: true}),
	}}
	for _, tc := range []struct {
		panels int
		lines  []string
	}{
		{2, []string{"4 accepted 3.536 -4 age", "5 accepted 0 0 intercept", "a 2 2 0.75 sd 5 0", "b 2 3 0.25 sd 4 1"}},
		{1, []string{"does not publish the answers"}},
	} {
		if tc.panels == 1 {
			for i := range trace.Rounds {
				trace.Rounds[i].Influences = nil
			}
		}
		var b bytes.Buffer
		if err := Trace(&b, trace); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(b.String()), " ")
		for _, line := range tc.lines {
			if !strings.Contains(text, line) {
				t.Errorf("%q is not in\n%s", line, &b)
			}
		}
		figure, err := TraceFigure(trace)
		if err != nil || len(figure.Panels) != tc.panels {
			t.Errorf("%d panels, want %d, %v", len(figure.Panels), tc.panels, err)
		}
		if _, err := figure.Encode("svg"); err != nil {
			t.Error(err)
		}
	}
}
