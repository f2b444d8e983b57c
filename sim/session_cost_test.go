package sim

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"fedpvi/accountant"
	"fedpvi/internal/document"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
)

// In each study, the charges for a client's releases must add up to the stated cost, up to
// rounding.
func TestIncrementsOfEveryExperiment(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "experiments", "*", "*.toml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no study was found: %v", err)
	}
	compared := 0
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if source, err = study.Attach(path, source, os.ReadFile); err != nil {
			t.Fatal(err)
		}
		doc, err := document.Parse(path, source)
		if err != nil {
			t.Fatal(err)
		}
		if !doc.Root().Has("study") {
			continue // skips a sweep, because the test reads the study of the sweep directly
		}
		// The studies get a noise multiplier, because calibrating the noise is slow.
		st := parse(t, path, string(source), givenNoise(doc.Root())...)
		if p, err := Protocol(st, 0); err != nil {
			t.Errorf("%s: %v", path, err)
		} else if p.Sound() && st.Privacy.Unit != study.None {
			compareIncrements(t, path, p)
			compared++
		}
	}
	if compared < 10 {
		t.Errorf("%d studies were compared", compared)
	}
}

func givenNoise(root *document.Table) (overrides []study.Override) {
	if root.Table("privacy").Has("epsilon") {
		overrides = append(overrides, study.Override{Key: "privacy.epsilon"}, study.Override{Key: "privacy.noise_multiplier", Value: "2.0"})
		if text, _ := root.Table("model").String("standardise"); text == "private" {
			overrides = append(overrides, study.Override{Key: "standardise.budget_share"}, study.Override{Key: "standardise.noise_multiplier", Value: "8.0"})
		}
	}
	return overrides
}

func compareIncrements(t *testing.T, path string, p *pvi.Protocol) {
	t.Helper()
	for _, view := range p.Views() {
		for _, adjacency := range p.Adjacencies() {
			whole, err := p.Event(view, adjacency, p.Releases())
			if err != nil {
				t.Fatal(err)
			}
			sum, err := increments(p, view, adjacency)
			if err != nil {
				t.Fatal(err)
			}
			compareEvents(t, path+", "+view.Name+", "+string(adjacency), sum, whole)
		}
	}
}

// increments returns the composition of all events that a client's ledger is charged: the scale
// phase, each release of the rounds, and the last round.
func increments(p *pvi.Protocol, view method.View, adjacency accountant.Adjacency) (accountant.Composed, error) {
	var sum accountant.Composed
	for _, s := range p.Before() {
		sum = append(sum, s.EventFor(view.Shares, adjacency))
	}
	all, released := p.Releases(), 0
	if len(p.After()) > 0 {
		all--
	}
	for round := 1; released < all; round++ {
		plans := round
		if p.Study().Inference.Schedule != study.Synchronous {
			plans *= len(p.Roster())
		}
		next := min(p.ReleasesAfter(plans), all)
		e, err := p.Increment(view, adjacency, released, next)
		if err != nil {
			return nil, err
		}
		sum, released = append(sum, e), next
	}
	for _, last := range p.After() {
		sum = append(sum, last.EventFor(view.Shares, adjacency))
	}
	return sum, nil
}

// compareEvents fails the test unless two events have the same Rényi divergence of order 6. The
// divergence is additive, fast to compute, and tells apart all events that differ in these tests.
func compareEvents(t *testing.T, name string, sum, whole accountant.Event) {
	t.Helper()
	const order = 6
	got, err := accountant.Renyi(sum, order)
	if err != nil {
		t.Fatal(err)
	}
	want, err := accountant.Renyi(whole, order)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(got-want) > 1e-9*want {
		t.Errorf("%s: releases add up to a divergence of %g, the whole has %g", name, got, want)
	}
}

// charged checks, for every observer and adjacency, that a client's charges in the run of h have
// the same Rényi divergence as the cost of the whole study. For the first observer and adjacency,
// it also compares ε.
func (h *byteHouse) charged(p *pvi.Protocol) {
	h.t.Helper()
	views := p.Views()
	for i, view := range views {
		for k, adjacency := range p.Adjacencies() {
			whole, err := p.Event(view, adjacency, p.Releases())
			if err != nil {
				h.t.Fatal(err)
			}
			var sum accountant.Composed
			for _, spent := range h.spent {
				for _, c := range spent {
					if c.View == view && c.Adjacency == adjacency {
						sum = append(sum, c.Event)
					}
				}
			}
			compareEvents(h.t, view.Name+", "+string(adjacency), sum, whole)
			if i+k > 0 {
				continue
			}
			got, want := epsilonOf(h.t, sum, p), epsilonOf(h.t, whole, p)
			if got < want*(1-1e-9) || got > want*(1+1e-6) {
				h.t.Errorf("releases add up to ε = %g, the study states %g", got, want)
			}
		}
	}
	if len(views) == 0 {
		for _, spent := range h.spent {
			if spent != nil {
				h.t.Errorf("%v was charged, and no promise is made", spent)
			}
		}
	}
}

func epsilonOf(t *testing.T, e accountant.Event, p *pvi.Protocol) float64 {
	t.Helper()
	profile, err := accountant.Account(e)
	if err != nil {
		t.Fatal(err)
	}
	epsilon, err := profile.Epsilon(p.Study().Privacy.Delta)
	if err != nil {
		t.Fatal(err)
	}
	return epsilon.Upper
}

// Before a client joins, it reviews the costs of the study. They must be computed with the public
// bounds.
func TestReviewedCosts(t *testing.T) {
	st, _ := experiment(t, "standardise/poor-bounds.toml", "simulation.clients=3")
	p, err := Protocol(st, 0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := session.Costs(st, p.Roster())
	if err != nil {
		t.Fatal(err)
	}
	want, err := p.Costs(p.Releases())
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d costs, want %d, %v", len(got), len(want), err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("cost %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}
