package report

import (
	"strings"
	"testing"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
	"fedpvi/sim"
)

// flowing replaces line breaks and indents in text by single spaces.
func flowing(text string) string { return strings.Join(strings.Fields(text), " ") }

// patient ignores the progress of simulated rounds and never stops them.
func patient(_, _ int) error { return nil }

// protocolOf returns the protocol of a study and the cost of all its releases.
func protocolOf(t *testing.T, source string) (*pvi.Protocol, *sim.Promise) {
	t.Helper()
	st, err := study.Parse("s.toml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	p, err := sim.Protocol(st, 0)
	if err != nil {
		t.Fatal(err)
	}
	promise, err := sim.NewPromise(p, p.Releases())
	if err != nil {
		t.Fatal(err)
	}
	return p, promise
}

// said has words that must occur in the plan, in the explanation of a release, and in the privacy
// statement of a study.
type said struct{ plan, explained, statement []string }

func (s said) check(t *testing.T, name string, p *pvi.Protocol, promise *sim.Promise) {
	t.Helper()
	var plan, statement strings.Builder
	if err := Plan(&plan, p, patient); err != nil {
		t.Fatal(err)
	}
	if err := Statement(&statement, &sim.Result{Clients: 2, Privacy: sim.Privacy{Unit: study.Record, Promise: promise}}); err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		what, text string
		want       []string
	}{
		{"plan", plan.String(), s.plan},
		{"explanation", strings.Join(words.NewExplained(p).Sent, " "), s.explained},
		{"statement", statement.String(), s.statement},
	} {
		for _, want := range of.want {
			if !strings.Contains(flowing(of.text), want) {
				t.Errorf("with %s the %s lacks %q:\n%s", name, of.what, want, of.text)
			}
		}
	}
}
